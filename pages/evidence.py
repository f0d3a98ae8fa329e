"""Evidence: which tools moved the answers?"""

import streamlit as st

from core.ui.experiments import evidence_tab
from core.ui.shared import run_browser, shell

context = shell.open_page(__file__)
st.markdown("## Evidence")
if context.dataset is None:
    run_browser.show_no_run(context)
    st.stop()
evidence_tab.show(context)
