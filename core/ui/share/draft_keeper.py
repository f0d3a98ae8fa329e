"""Keeps an abstract that is not saved yet: in the browser's tab, so that a reload does not lose it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

_keeper = st.components.v2.component("draft_keeper", html="<div></div>", js=Path(__file__).with_suffix(".js").read_text("utf-8"))


def show(of: str, text: str, take: Callable[[str], object], *, is_new: bool) -> None:
    """Keep a text, which the tab then holds by what it is about (of); is_new: nobody has written in this session yet.

    take: is called with what the tab kept of an earlier session, before the page is drawn again.
    """
    key = "draft-keeper"

    def give_back() -> None:
        kept = st.session_state[key]["draft"]
        if kept and kept["of"] == of:
            take(kept["text"])

    _keeper(key=key, data={"of": of, "text": text, "isNew": is_new}, on_draft_change=give_back)
