"""A line that confirms an action, with links. It survives the rerun that shows the change."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import NoReturn

import streamlit as st

_DONE = "_done"  # session key: the confirmation for the page's next run
_SHOWN = "_confirmation"  # session key: the confirmation on screen


def confirm(text: str, *show_links: Callable[[], object]) -> NoReturn:
    """Rerun the page, which then confirms an action in one line with these links."""
    st.session_state[_DONE] = (text, show_links)
    st.rerun()


def repeat_confirmation() -> None:
    """Let the page's next run repeat the confirmation: the page reruns without an action of the
    user."""
    if _SHOWN in st.session_state:
        st.session_state.setdefault(_DONE, st.session_state[_SHOWN])


def show_confirmation() -> None:
    """Show the confirmation of the last action; nothing if the page runs for another reason.

    The line floats above the page, so that nothing else moves.
    """
    with st.container(
        key="confirmation", horizontal=True, vertical_alignment="center", gap="medium"
    ):
        st.session_state.pop(_SHOWN, None)
        if _DONE not in st.session_state:
            return
        text, show_links = st.session_state[_SHOWN] = st.session_state.pop(_DONE)
        st.html(f'<span role="status">✓ {html.escape(text)}</span>', width="content")
        for show_link in show_links:
            show_link()
        # any click reruns the page without the line
        st.button("✕", type="tertiary", key="dismiss", help="Dismiss")
