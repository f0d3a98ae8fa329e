"""The files of a site: data as scripts, the style sheet with the palette, and what lies in static/."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from core.file_io import temporary_folder
from core.plots import theme
from core.site.content import Row, SiteContent

CHUNK_ROWS = 100  # rows whose texts share a file, which is loaded when one of them is read
PAGE = "index.html"
FUSION = "fusion.html"
_TO_FUSION = f'<a id="fusion" href="{FUSION}">Change its weights</a>'
WALK = "walk-{}.html"
_TO_WALK = '<a class="walk" href="{file}">▶ {name}</a>'
TEXTS = "data/texts-{:04d}.js"
_STATIC = Path(__file__).parent / "static"
_ROLES = {role.lower(): colour for role, colour in theme.ROLE_COLOURS.items()}


class SiteFiles(Mapping[str, bytes]):
    """The files of a site by their paths, the page last: equal content gives equal bytes.

    They are written to a folder that goes when nobody has this record any more, since there is no room for large ones in memory.
    """

    def __init__(self) -> None:
        self._held = ExitStack()
        self._folder = self._held.enter_context(temporary_folder("site"))
        self._waiting: list[Row] = []
        self._texts: list[str] = []
        self._paths: list[str] = []

    def add_texts(self, texts: Row) -> None:
        """Take the texts of the next row."""
        self._waiting.append(texts)
        if len(self._waiting) == CHUNK_ROWS:
            self._write_texts()

    def finish(self, content: SiteContent, fusion: bytes | None = None, walks: Sequence[tuple[str, bytes]] = ()) -> None:
        """Write all but the texts, once all of them were added.

        fusion: a page on which the run is weighed again, if it is one. walks: name and slides of each walk-through.
        """
        if self._waiting:
            self._write_texts()
        run = content.run | {"chunks": len(self._texts), "chunkRows": CHUNK_ROWS}
        data = {"data/run.js": _script("receiveRun", run), "data/rows.js": _script("receiveRows", content.rows)}
        static = {path.name: path.read_bytes() for path in sorted(_STATIC.iterdir()) if path.name != PAGE}
        files = static | {"style.css": _palette().encode() + static["style.css"]}
        title = html.escape(f"{content.run['name']} · {content.run['dataset']}")
        links = [] if fusion is None else [_TO_FUSION]
        links += [_TO_WALK.format(file=WALK.format(n), name=html.escape(name)) for n, (name, _) in enumerate(walks, start=1)]
        page = (_STATIC / PAGE).read_text("utf-8").replace("{links}", "\n  ".join(links))
        files |= {} if fusion is None else {FUSION: fusion}
        files |= {WALK.format(n): slides for n, (_, slides) in enumerate(walks, start=1)}
        files |= {PAGE: page.replace("{title}", title).encode()}
        for path, script in (data | files).items():
            self._write(path, script)
        self._paths = [*data, *self._texts, *files]

    def _write_texts(self) -> None:
        n, chunk, self._waiting = len(self._texts), self._waiting, []
        self._texts.append(TEXTS.format(n))
        self._write(self._texts[-1], _script(f"receiveTexts({n})", chunk))

    def _write(self, path: str, content: bytes) -> None:
        self._place(path).write_bytes(content)

    def _place(self, path: str) -> Path:
        return self._folder / path.replace("/", " ")

    def __getitem__(self, path: str) -> bytes:
        if path not in self._paths:
            raise KeyError(path)
        return self._place(path).read_bytes()

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def _script(receiver: str, data: Any) -> bytes:
    """Return a script that hands data to the page: as JSON in a string, in which nothing is code, a tag or the end of a line."""
    function, bracket, first = receiver.partition("(")
    argument = f"{first.removesuffix(')')}, " if bracket else ""
    text = json.dumps(json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")), ensure_ascii=False)
    for character in "<>\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f"site.{function}({argument}JSON.parse({text}));\n".encode()


def _palette() -> str:
    """Return the colours of `core.plots.theme` as custom properties, for a light and a dark screen; paper is light."""
    signs = {**theme.LABEL_COLOURS, **_ROLES, "warning": theme.WARNING}
    fixed = "".join(f"--{name}:{colour};" for name, colour in sorted(signs.items()))
    light, dark = (
        "".join(f"--{name}:{colour};" for name, colour in {**theme.SURFACES[base], "accent": theme.ACCENT[base]}.items())
        for base in ("light", "dark")
    )
    return f":root{{color-scheme:light dark;{fixed}{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
