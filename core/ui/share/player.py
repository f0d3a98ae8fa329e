"""Slides that play in the page, and full-screen by a click: the file itself, in a frame."""

from __future__ import annotations

import hashlib
from pathlib import Path

import streamlit as st

_HTML = """<div class="player"><button type="button">▶ Play full-screen</button>
<iframe title="Slides" allow="fullscreen"></iframe></div>"""
_CSS = """.player { display: flex; flex-direction: column; gap: 0.5rem; }
button { align-self: start; border: 1px solid var(--st-primary-color); border-radius: 0.5rem; background: var(--st-primary-color);
  color: #fff; cursor: pointer; font: inherit; padding: 0.3rem 0.9rem; }
button:focus-visible { outline: 2px solid var(--st-text-color); outline-offset: 2px; }
iframe { width: 100%; aspect-ratio: 16 / 9; border: 1px solid var(--st-border-color); border-radius: 0.5rem; }
iframe:fullscreen { border: 0; border-radius: 0; }"""
_player = st.components.v2.component("player", html=_HTML, css=_CSS, js=Path(__file__).with_suffix(".js").read_text("utf-8"))


def show(page: bytes, key: str) -> None:
    """Show slides; the arrow keys move through them once they are clicked or play."""
    version = hashlib.sha256(page).hexdigest()
    _player(key=key, data={"page": page.decode(), "version": version}, width="stretch")
