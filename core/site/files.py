"""The files of a site: data as scripts, the style sheet with the palette, and what lies in static/."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

from core.plots import theme
from core.site.content import SiteContent

CHUNK_ROWS = 100  # rows whose texts share a file, which is loaded when one of them is read
PAGE = "index.html"
TEXTS = "data/texts-{:04d}.js"
_STATIC = Path(__file__).parent / "static"
_ROLES = {role.lower(): colour for role, colour in theme.ROLE_COLOURS.items()}


def make_files(content: SiteContent) -> dict[str, bytes]:
    """The files by their paths, the page last: equal content gives equal bytes."""
    chunks = [content.texts[start : start + CHUNK_ROWS] for start in range(0, len(content.texts), CHUNK_ROWS)]
    run = content.run | {"chunks": len(chunks), "chunkRows": CHUNK_ROWS}
    files = {"data/run.js": _script("receiveRun", run), "data/rows.js": _script("receiveRows", content.rows)}
    files |= {TEXTS.format(n): _script(f"receiveTexts({n})", chunk) for n, chunk in enumerate(chunks)}
    static = {path.name: path.read_bytes() for path in sorted(_STATIC.iterdir()) if path.name != PAGE}
    files |= static | {"style.css": _palette().encode() + static["style.css"]}
    title = html.escape(f"{content.run['name']} · {content.run['dataset']}")
    return files | {PAGE: (_STATIC / PAGE).read_text("utf-8").replace("{title}", title).encode()}


def _script(receiver: str, data: Any) -> bytes:
    """A script that hands data to the page: as JSON in a string, in which nothing is code, a tag or the end of a line."""
    function, bracket, first = receiver.partition("(")
    argument = f"{first.removesuffix(')')}, " if bracket else ""
    text = json.dumps(json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")), ensure_ascii=False)
    for character in "<>\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f"site.{function}({argument}JSON.parse({text}));\n".encode()


def _palette() -> str:
    """The colours of `core.plots.theme` as custom properties, for a light and a dark screen; paper is light."""
    signs = {**theme.LABEL_COLOURS, **_ROLES, "warning": theme.WARNING}
    fixed = "".join(f"--{name}:{colour};" for name, colour in sorted(signs.items()))
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in {**theme.SURFACES[base], "accent": theme.ACCENT[base]}.items())
        for base in ("light", "dark")
    )
    return f":root{{color-scheme:light dark;{fixed}{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
