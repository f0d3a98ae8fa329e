"""Run: start, watch, stop, resume."""

import streamlit as st

from core.features.predicting.page import show_form, show_runs
from core.ui import run_browser, shell

context = shell.open_page(__file__)
if context.dataset is None:
    run_browser.show_no_run(context)
    st.stop()
runs_above = st.container()
st.markdown("### Start a run")
show_form(context, context.dataset)
with runs_above:
    show_runs(context)
