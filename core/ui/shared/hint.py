"""A short explanation that a person can dismiss for good; the browser remembers it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

_HTML = """<aside class="hint" hidden><div class="lines"></div>
<button type="button" title="Do not show this again" aria-label="Do not show this again">✕</button></aside>"""
_CSS = """.hint:not([hidden]) { display: flex; justify-content: space-between; align-items: flex-start; gap: 1rem; }
.hint { border: 1px solid var(--st-border-color); border-radius: 4px; padding: 0.5rem 0.8rem; }
.lines { font-size: 0.9rem; line-height: 1.5; }
button { border: 0; background: none; color: inherit; cursor: pointer; font: inherit; }
button:focus-visible { outline: 2px solid var(--st-primary-color); }"""
_JS = """export default ({ data, parentElement }) => {
  const hint = parentElement.querySelector(".hint");
  const key = `perturbdesk-hint-${data.name}`;
  hint.hidden = localStorage.getItem(key) === "away";
  const lines = data.lines.map((text) => Object.assign(document.createElement("div"), { textContent: text }));
  hint.querySelector(".lines").replaceChildren(...lines);
  hint.querySelector("button").onclick = () => {
    localStorage.setItem(key, "away");
    hint.hidden = true;
  };
};"""
_hint = st.components.v2.component("hint", html=_HTML, css=_CSS, js=_JS)


def show(name: str, lines: Sequence[str]) -> None:
    """Show these lines, unless this browser's user dismissed the hint of this name."""
    _hint(key=f"hint-{name}", data={"name": name, "lines": list(lines)})
