"""The explorer in one HTML file that works from disk without a network."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

from core.explorer import component
from core.plots.offline_page import colours, policy


@dataclass(frozen=True, slots=True)
class ExplorerData:
    """What an explorer shows: `content.make_content` and `state.state_of_file`. title: of the fusion, for a heading."""

    title: str
    content: dict[str, Any]
    state: dict[str, Any]


def place(key: str, data: ExplorerData) -> str:
    """The HTML of the place in which `component.file_script` draws an explorer, and of its data, which no browser runs."""
    text = json.dumps({"content": data.content, "state": data.state}, ensure_ascii=False, allow_nan=False)
    for character in "<\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    name = html.escape(key)
    return f'<div class="explorer-place" id="{name}"></div><script type="application/json" id="{name}-data">{text}</script>'


def make_file(data: ExplorerData) -> bytes:
    """The file; the same data give the same bytes."""
    script = component.file_script()
    parts = {
        "policy": html.escape(policy([script])),
        "style": f"{colours()}\n{component.style()}\n{component.file_style()}",
        "script": script,
        "title": html.escape(data.title),
        "place": place("fusion", data),
    }
    return re.sub(r"\{(\w+)\}", lambda found: parts[found[1]], component.file_page()).encode()
