"""Launch: start, watch, stop, resume."""

import streamlit as st

from core.ui.launch import run_form, run_list
from core.ui.shared import run_browser, shell

context = shell.open_page(__file__)
st.markdown("## Launch")
if context.dataset is None:
    run_browser.show_no_run(context)
    st.stop()

runs_above = st.container()
st.markdown("### Start a run")
run_form.show_form(context, context.dataset)
with runs_above:
    shell.fragment(lambda: run_list.show_runs(context), every_s=run_list.WATCH_S)()
