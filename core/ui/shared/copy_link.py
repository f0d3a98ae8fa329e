"""A button that copies the link to the view on screen, by one click or by the key c of the list of rows."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from core.ui.shared import links

_ICON = """<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" fill="none" stroke="currentColor">
<path d="M6.5 9.5l3-3M7.5 4.5l1.2-1.2a2.8 2.8 0 014 4L11.5 8.5M8.5 11.5l-1.2 1.2a2.8 2.8 0 01-4-4L4.5 7.5"/></svg>"""
_HTML = f"""<span class="copy"><button type="button" title="Copy the link (c)" aria-label="Copy link">{_ICON}</button>
<input hidden readonly aria-label="Link to this view"><span class="said" role="status"></span></span>"""
_CSS = """.copy { position: relative; display: inline-block; color: var(--st-text-color); }
button { display: flex; align-items: center; border: 1px solid var(--st-border-color); border-radius: 4px; background: none;
  color: inherit; cursor: pointer; font: inherit;
  height: 2rem; padding: 0 0.5rem; }
button:hover { border-color: var(--st-primary-color); }
button:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 1px; }
.said:not(:empty) { position: absolute; right: 0; top: 2.2rem; white-space: nowrap; padding: 0.2rem 0.6rem; border-radius: 4px;
  background: #25313c; color: #fff; font-size: 0.9rem; z-index: 30; }
input:not([hidden]) { position: absolute; right: 0; top: 4.2rem; width: 20rem; z-index: 30; }"""
_button = st.components.v2.component("copy_link", html=_HTML, css=_CSS, js=Path(__file__).with_suffix(".js").read_text("utf-8"))


def show(**parameters: str) -> None:
    """Show the button; its link is the address of the view with these query parameters, below the base address if one is set."""
    _button(key="copy-link", data={"base": links.base_address(), "parameters": parameters}, width="content")
