"""One line that says what an action did, with links to it. It outlives the rerun by which the page shows the change."""

from __future__ import annotations

import html
from collections.abc import Callable

import streamlit as st

_DONE = "_done"  # session key: what the last action did, until the page's next run says it
_SHOWN = "_confirmation"  # session key: what the page on screen says


def confirm(text: str, *show_links: Callable[[], object]) -> None:
    """Have the page's next run say in one line what an action did, with these links beside it; the caller runs the page again."""
    st.session_state[_DONE] = (text, show_links)


def repeat_confirmation() -> None:
    """Have the page's next run say the same again: it runs by itself, and nobody did anything meanwhile."""
    if _SHOWN in st.session_state:
        st.session_state.setdefault(_DONE, st.session_state[_SHOWN])


def show_confirmation() -> None:
    """Say what the last action did; nothing if the page runs for another reason.

    The line floats above the page, so that nothing moves when it comes and goes.
    """
    with st.container(key="confirmation", horizontal=True, vertical_alignment="center", gap="medium"):
        st.session_state.pop(_SHOWN, None)
        if _DONE not in st.session_state:
            return
        text, show_links = st.session_state[_SHOWN] = st.session_state.pop(_DONE)
        st.html(f'<span role="status">✓ {html.escape(text)}</span>', width="content")
        for show_link in show_links:
            show_link()
        st.button("✕", type="tertiary", key="dismiss", help="Dismiss")  # any click runs the page again, without the line
