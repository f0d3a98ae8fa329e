"""What was searched for lately in this browser, and what can be searched for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from core.ui.shared import links

_CSS = """.recent p { margin: 0.2rem 0; color: var(--st-text-color); }
a { display: inline-block; margin: 0.15rem 0.2rem; padding: 0.1rem 0.6rem; border-radius: 4px;
  border: 1px solid var(--st-border-color);
  color: inherit; text-decoration: none; overflow-wrap: anywhere; }
a:hover { border-color: var(--st-primary-color); }
a:focus-visible { outline: 2px solid var(--st-primary-color); }"""
_recent = st.components.v2.component(
    "recent_searches",
    html='<div class="recent"></div>',
    css=_CSS,
    js=links.SCRIPT + Path(__file__).with_suffix(".js").read_text("utf-8"),
)


def show(phrase: str, examples: Sequence[str]) -> None:
    """Show earlier phrases and examples as links where nothing is searched for; keep the phrase that is."""
    address = links.page_address("search", **links.dataset_and_run())
    _recent(key="recent-searches", data={"phrase": phrase, "examples": list(examples), "address": address})
