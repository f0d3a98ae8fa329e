"""Launch: start, watch, stop, resume."""

import streamlit as st

from core.ui.launch import panels
from core.ui.shared import run_browser, shell

context = shell.open_page(__file__)
st.markdown("## Launch")
if context.dataset is None:
    run_browser.show_no_run(context)
    st.stop()

watched = st.container()
st.markdown("### Start a run")
panels.form(context, context.dataset)
with watched:
    shell.fragment(lambda: panels.watch(context), every_s=panels.WATCH_S)()
