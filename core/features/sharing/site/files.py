"""The files of a site: data as scripts, the style sheet with the palette, and what lies in
static/."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.base.config import REPOSITORY
from core.features.sharing.report.row_texts import Row
from core.features.sharing.site.content import SiteContent
from core.plots.printed import colours

CHUNK_ROWS = 100  # rows whose texts share a file, which is loaded when one of them is read
PAGE = "index.html"
FUSION = "fusion.html"
_TO_FUSION = f'<a id="fusion" href="{FUSION}">Change its weights</a>'
WALK = "walk-{}.html"
_TO_WALK = '<a class="walk" href="{file}">▶ {name}</a>'
TEXTS = "data/texts-{:04d}.js"
_STATIC = Path(__file__).parent / "static"
_TEXT = REPOSITORY / "core" / "ui" / "text.js"  # draws text literally, as pages do


class SiteFiles:
    """The files of a site, written to a folder as they are made: equal content gives equal bytes.

    paths: in the order in which they were written, the page last.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: list[Row] = []
        self._n_texts = 0
        self.paths: list[str] = []
        (folder / "data").mkdir()

    def add_texts(self, texts: Row) -> None:
        """Take the texts of the next row."""
        self._waiting.append(texts)
        if len(self._waiting) == CHUNK_ROWS:
            self._write_texts()

    def finish(
        self,
        content: SiteContent,
        fusion: bytes | None = None,
        walks: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        """Write all but the texts, once all of them were added.

        fusion: a page on which the run is weighed again, if it is one. walks: name and slides of
        each walk-through.
        """
        if self._waiting:
            self._write_texts()
        run = content.run | {"chunks": self._n_texts, "chunkRows": CHUNK_ROWS}
        self._write("data/run.js", _script("receiveRun", run))
        self._write("data/rows.js", _script("receiveRows", content.rows))
        for file in sorted((*_STATIC.iterdir(), _TEXT), key=lambda file: file.name):
            if file.name != PAGE:
                palette = f"{colours()}\n".encode() if file.name == "style.css" else b""
                self._write(file.name, palette + file.read_bytes())
        links = []
        if fusion is not None:
            self._write(FUSION, fusion)
            links.append(_TO_FUSION)
        for n, (name, slides) in enumerate(walks, start=1):
            self._write(WALK.format(n), slides)
            links.append(_TO_WALK.format(file=WALK.format(n), name=html.escape(name)))
        title = html.escape(f"{content.run['name']} · {content.run['dataset']}")
        page = (_STATIC / PAGE).read_text("utf-8").replace("{links}", "\n  ".join(links))
        self._write(PAGE, page.replace("{title}", title).encode())

    def _write_texts(self) -> None:
        script = _script(f"receiveTexts({self._n_texts})", self._waiting)
        self._write(TEXTS.format(self._n_texts), script)
        self._n_texts, self._waiting = self._n_texts + 1, []

    def _write(self, path: str, content: bytes) -> None:
        (self._folder / path).write_bytes(content)
        self.paths.append(path)


def _script(receiver: str, data: Any) -> bytes:
    """Return a script that hands data to the page: as JSON in a string, in which nothing is code, a
    tag or the end of a line."""
    function, bracket, first = receiver.partition("(")
    argument = f"{first.removesuffix(')')}, " if bracket else ""
    text = json.dumps(
        json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")),
        ensure_ascii=False,
    )
    for character in "<>\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f"site.{function}({argument}JSON.parse({text}));\n".encode()
