"""Share: show it to co-authors, and hand it in."""

import streamlit as st

from core.ui.report import choices, panels
from core.ui.shared import run_browser, shell, widgets
from core.ui.submit import panels as submit

context = shell.open_page(__file__)
st.markdown("## Share")


def show_report() -> None:
    """Show the form of a report and its downloads."""
    if context.run is None:
        run_browser.show_no_run(context)
        return
    name = panels.show_name(context)
    selection = choices.choose(context, context.run)
    if selection is None:
        widgets.show_empty("No run is chosen: choose those that the report is to show.")
        return
    panels.show_downloads(context.workspace, name, selection)
    panels.show_save(context.workspace, name, selection)
    panels.show_contents(selection)


widgets.show_tabs(
    "tab",
    {
        "Report": show_report,
        "Package a run": lambda: submit.show_run(context),
        "Check a file": lambda: submit.show_check(context),
    },
)
