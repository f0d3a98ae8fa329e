"""Plan: how large does an experiment have to be?"""

import streamlit as st

from core.ui.experiments import plan_tab
from core.ui.shared import run_browser, shell

context = shell.open_page(__file__)
st.markdown("## Plan")
if context.dataset is None:
    run_browser.show_no_run(context)
    st.stop()
plan_tab.show(context)
