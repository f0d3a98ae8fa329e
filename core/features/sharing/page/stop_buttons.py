"""Two buttons beside an element: add it to the report or to the walk-through. Both store a stop in
a list."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.features.sharing import walk_actions
from core.features.sharing.report.walk import AT_HOME, Links
from core.features.sharing.walk_tables import Stop
from core.runs.workspace import Workspace
from core.ui import links

# Session keys: the walk-through that receives stops, and the page on screen.
WALK, _PAGE = "_walk", "_page_of_stops"
Make = Callable[[str], Stop]  # the stop as one of the walk-through of a name


def begin_page(file: str) -> None:
    """Set the page on screen, by its file in pages/, "" for the first."""
    st.session_state[_PAGE] = file


def current_walk() -> str:
    """Return the name of the walk-through that receives stops."""
    return str(st.session_state.get(WALK, walk_actions.USUAL))


def links_of_stops() -> Links:
    """Return the base address of links in stops: that of the settings, else that of this page."""
    opened = (st.context.url or "").rpartition("/")[0]
    return Links(links.base_address() or (opened if opened.startswith("http") else AT_HOME))


def address_of_view() -> str:
    """Return the address of the view on screen, relative to any page's."""
    return links.page_address(st.session_state.get(_PAGE, ""), **links.read_parameters())


def show(workspace: Workspace, make: Make, key: str) -> None:
    """Show both buttons, except to readers. key: of the element beside them, on its page.

    Their words are for screen readers and tooltips; the style sheet shows only the signs.
    """
    if workspace.settings.read_only:
        return
    buttons = (
        (walk_actions.REPORT, f"to-report-{key}", ":material/note_add:", "Add to report"),
        (current_walk(), f"to-walk-{key}", ":material/add_location_alt:", "Add to walk-through"),
    )
    for walk, name, icon, words in buttons:
        if st.button(words, icon=icon, help=words, key=name, type="tertiary"):
            walk_actions.add_stop(workspace, make(walk))
            st.toast(
                f"Added to {'the report' if walk == walk_actions.REPORT else walk}. See it on"
                " Share.",
                icon=":material/check:",
            )
