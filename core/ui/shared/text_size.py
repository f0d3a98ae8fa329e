"""A switch for larger text, which a person's browser remembers."""

from __future__ import annotations

import streamlit as st

LARGER = 1.2
COOKIE = "perturbdesk-larger-text"  # a cookie, so that the server knows it before it draws the first figure
_STYLE = "<style>html { font-size: 18px !important; }</style>"  # of the theme's baseFontSize, LARGER times
_HTML = """<label><input type="checkbox"> Larger text</label>"""
_CSS = """label { display: flex; align-items: center; gap: 0.5em; font-size: 0.875rem; cursor: pointer; }
input { margin: 0; width: 1.1em; height: 1.1em; accent-color: var(--st-primary-color); cursor: pointer; }
input:focus-visible { outline: 2px solid var(--st-primary-color); outline-offset: 2px; }"""
# Tables measure the text only once, so the page is reloaded. Its address restores what it shows.
_JS = """export default ({ data, parentElement }) => {
  const box = parentElement.querySelector("input");
  box.checked = data.larger;
  box.onchange = () => {
    document.cookie = `${data.cookie}=${box.checked ? "on" : "off"}; path=/; max-age=31536000; SameSite=Strict`;
    location.reload();
  };
};"""
_switch = st.components.v2.component("text_size", html=_HTML, css=_CSS, js=_JS)


def is_larger() -> bool:
    """Return whether this browser's user has switched larger text on."""
    return st.context.cookies.get(COOKIE) == "on"


def scale() -> float:
    """Return the scale of this browser's text: 1 is the usual size."""
    return LARGER if is_larger() else 1.0


def apply() -> None:
    """Enlarge everything below that scales with the text. Figures are in pixels and call `scale`."""
    if is_larger():
        st.html(_STYLE)


def show_switch() -> None:
    """Show the switch."""
    _switch(key="text-size", data={"larger": is_larger(), "cookie": COOKIE})
