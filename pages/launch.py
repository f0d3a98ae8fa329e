"""Launch: start, watch, stop, resume."""

import streamlit as st

from core.ui import browser, launch, shell

view = shell.enter(__file__)
st.markdown("## Launch")
if view.dataset is None:
    browser.nothing(view)
    st.stop()

watched = st.container()
st.markdown("### Start a run")
launch.form(view, view.dataset)
with watched:
    shell.fragment(lambda: launch.watch(view), every_s=launch.WATCH_S)()
