"""The explorer's script, style and page, as the app and a file from disk take them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

_ASSETS = Path(__file__).with_name("assets")
_PARTS = ("numbers.js", "fusion.js", "texts.js", "drawing.js", "rows.js", "explorer.js")


@cache
def script() -> str:
    """The script, whose last part defines `mountExplorer`; it makes no request and needs no library."""
    page = json.dumps(_read("explorer.html").strip())
    return "\n".join([f"const PAGE = {page};", *map(_read, _PARTS)])


@cache
def app_script() -> str:
    """The script as a module of Streamlit's, which mounts the explorer in the element of class "place"."""
    return f"{script()}\n{_read('app.js')}"


@cache
def file_script() -> str:
    """The script of a file from disk, which draws every explorer whose place is in the page."""
    return f'"use strict";\n(() => {{\n{script()}\n{_read("file.js")}}})();'


@cache
def file_style() -> str:
    """The style of a page that shows an explorer alone."""
    return _read("file.css")


@cache
def file_page() -> str:
    """The page that shows an explorer alone, with the names of what it holds in curly brackets."""
    return _read("file.html")


@cache
def style() -> str:
    """The style sheet; its rules are about what is inside `.fusion` alone."""
    return _read("explorer.css")


def _read(name: str) -> str:
    return (_ASSETS / name).read_text("utf-8")
