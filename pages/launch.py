"""Launch: start, watch, stop, resume."""

import streamlit as st

from core.ui.launch import panels
from core.ui.shared import run_browser, shell

view = shell.enter(__file__)
st.markdown("## Launch")
if view.dataset is None:
    run_browser.nothing(view)
    st.stop()

watched = st.container()
st.markdown("### Start a run")
panels.form(view, view.dataset)
with watched:
    shell.fragment(lambda: panels.watch(view), every_s=panels.WATCH_S)()
