"""Share: show it to co-authors, and hand it in."""

from dataclasses import replace

import streamlit as st

from core.features.sharing.page import choices, panels, walk_tab
from core.features.sharing.page import panels as preview
from core.ui import run_browser, shell, widgets

context = shell.open_page(__file__)


def show_report() -> None:
    """Show the form of a report and its downloads."""
    if context.run is None:
        run_browser.show_no_run(context)
        return
    form, view = st.columns([0.36, 0.64], gap="medium")
    with form:
        name = panels.show_name(context)
        selection = choices.choose(context, context.run)
    if selection is None:
        widgets.show_empty("Choose the runs for the report.")
        return
    with view:
        files = st.container()
        with st.spinner("Making the report …"):
            parts = preview.load(context.workspace, name, selection)
    with form:
        parts = replace(parts, selection=choices.write_texts(parts))
        panels.show_save(context.workspace, name, parts.selection)
    with files:
        panels.show_downloads(context.workspace, parts)
    with view:
        preview.show(parts)


widgets.show_tabs(
    "tab",
    {
        "Report": show_report,
        "Walk-throughs": lambda: walk_tab.show(context),
        **shell.tabs_of("share", context),
    },
)
