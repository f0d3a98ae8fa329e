"""Report: show it to co-authors."""

import streamlit as st

from core.ui.report import choices, panels
from core.ui.shared import run_browser, shell, widgets

context = shell.open_page(__file__)
st.markdown("## Report")
run = context.run
if run is None:
    run_browser.show_no_run(context)
    st.stop()

name = panels.show_name(context)
selection = choices.choose(context, run)
if selection is None:
    widgets.show_empty("No run is chosen: choose those that the report is to show.")
    st.stop()

panels.show_downloads(context.workspace, name, selection)
panels.show_save(context.workspace, name, selection)
panels.show_contents(selection)
