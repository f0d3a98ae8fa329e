"""The explorer's script, style and page, as the app and a file from disk take them.

The explorer in one HTML file that works from disk without a network.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from core.plots.offline_page import colours, policy

_ASSETS = Path(__file__).with_name("assets")
_PARTS = ("numbers.js", "fusion.js", "texts.js", "drawing.js", "rows.js", "explorer.js")


@cache
def script() -> str:
    """Return the script, whose last part defines `mountExplorer`; it makes no request and needs no
    library."""
    page = json.dumps(_read("explorer.html").strip())
    return "\n".join([f"const PAGE = {page};", *map(_read, _PARTS)])


@cache
def app_script() -> str:
    """Return the script as a module of Streamlit's, which mounts the explorer in the element of
    class "place"."""
    return f"{script()}\n{_read('app.js')}"


@cache
def file_script() -> str:
    """Return the script of a file from disk, which draws every explorer whose place is in the
    page."""
    return f'"use strict";\n(() => {{\n{script()}\n{_read("file.js")}}})();'


@cache
def style() -> str:
    """Return the style sheet; its rules are about what is inside `.fusion` alone."""
    return _read("explorer.css")


def _read(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")


@dataclass(frozen=True, slots=True)
class ExplorerData:
    """What an explorer shows: `content.make_content` and `state.state_of_file`. title: of the
    fusion, for a heading."""

    title: str
    content: dict[str, Any]
    state: dict[str, Any]

    script = staticmethod(file_script)
    style = staticmethod(style)

    def place(self, key: str) -> str:
        """Return the HTML of the place in which `file_script` draws it, and of its data, which no
        browser runs."""
        text = json.dumps(
            {"content": self.content, "state": self.state}, ensure_ascii=False, allow_nan=False
        )
        for character in "<\u2028\u2029":
            text = text.replace(character, f"\\u{ord(character):04x}")
        name = html.escape(key)
        return (
            f'<div class="explorer-place" id="{name}"></div><script type="application/json"'
            f' id="{name}-data">{text}</script>'
        )

    def file(self) -> bytes:
        """Return the file; the same data give the same bytes."""
        script = self.script()
        parts = {
            "policy": html.escape(policy([script])),
            "style": f"{colours()}\n{self.style()}\n{_read('file.css')}",
            "script": script,
            "title": html.escape(self.title),
            "place": self.place("fusion"),
        }
        return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], _read("file.html")).encode()
