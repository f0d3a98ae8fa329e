"""Ablations: what does each part add?"""

import streamlit as st

from core.ui.experiments import ablations_tab
from core.ui.shared import run_browser, shell

context = shell.open_page(__file__)
st.markdown("## Ablations")
if context.dataset is None:
    run_browser.show_no_run(context)
    st.stop()
ablations_tab.show(context)
