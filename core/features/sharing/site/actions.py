"""A run as a site: a folder of plain files, or a zip of them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from core.base import environment
from core.base.archives import pack_into
from core.base.config import REPOSITORY
from core.base.errors import StateError
from core.base.file_io import part_of, replace_file, temporary_folder
from core.base.system_errors import explain
from core.features import hooks
from core.features.sharing.report.rows import Row
from core.features.sharing.site.content import SiteContent, Sources, read_content
from core.plots.printed import colours
from core.runs import run_control
from core.runs.workspace import Workspace
from core.store import pairs, runs

__all__ = ["PAGE", "BuiltSite", "build_site", "write_site", "zip_site"]
_OLD = re.compile(r"texts-\d{4,}\.js")  # files of an earlier site


@dataclass(frozen=True, slots=True)
class BuiltSite:
    """The files of a site. paths: in its folder, the page last. size: in bytes. rows: of the run.
    name: to save them under."""

    paths: Sequence[str]
    size: int
    rows: int
    name: str


def build_site(workspace: Workspace, run: str, folder: Path) -> BuiltSite:
    """Write the site of a run to an empty folder.

    Raise StateError while a worker is on the run, or if it
    contains an API key; InputError for a run without rows; NotFound.
    """
    found = runs.refuse_reading(run_control.settle_run(workspace, run))
    files = SiteFiles(folder)
    with workspace.store.read() as db:
        frame = pairs.frame(db, found.dataset)
        rows = zip(frame["pair_id"], frame["pert"], frame["gene"], strict=True)
        sources = Sources(environment.remover(workspace.settings), pairs.pairs_sha256(rows))
        content = read_content(db, found, sources, files.add_texts)
    tools = (find(workspace, found, labels=True) for find in hooks("hand_tools"))
    tool = next(filter(None, tools), None)
    files.finish(content, None if tool is None else tool.file())
    written = [folder / path for path in files.paths]
    environment.refuse_secrets(
        workspace.settings, f"run {found.name}", (file.read_bytes() for file in written)
    )
    name = re.sub(r"[^\w.-]+", "_", found.name).strip("._") or found.id
    size = sum(file.stat().st_size for file in written)
    return BuiltSite(files.paths, size, len(content.rows["pair_id"]), f"{name[:80]}-site")


def zip_site(workspace: Workspace, run: str) -> tuple[BuiltSite, bytes]:
    """Return the site of a run, and its folder as a zip: the same run gives the same bytes. Raise
    as `build_site`."""
    out = BytesIO()
    with temporary_folder("site") as folder:
        made = build_site(workspace, run, folder)
        pack_into(
            out,
            lambda: ((f"{made.name}/{path}", (folder / path).read_bytes()) for path in made.paths),
        )
    return made, out.getvalue()


def write_site(
    workspace: Workspace,
    run: str,
    out: Path,
    *,
    replace: bool = False,
) -> BuiltSite:
    """Write the site of a run to a folder, which is new as a whole, or gets its page last.

    replace: also into a folder that is not empty, where other files stay as they are. Raise
    StateError if the folder is not empty, unless `replace`, and SystemFailure if it cannot be
    written.
    """
    try:
        if out.exists() and not out.is_dir():
            raise StateError(f"{out}: a file, expected an empty or new folder")
        with suppress(FileNotFoundError):
            if not replace and any(out.iterdir()):
                raise StateError(f"{out}: not empty, expected an empty or new folder, or --replace")
        is_new = not out.exists()
        beside = part_of(out.absolute(), is_folder=True) if is_new else temporary_folder("site")
        with beside as folder:
            made = build_site(workspace, run, folder)
            if is_new:
                folder.rename(out)
                return made
            (out / "data").mkdir(parents=True, exist_ok=True)
            (out / PAGE).unlink(missing_ok=True)
            for old in out.glob("data/texts-*.js"):
                if _OLD.fullmatch(old.name):
                    old.unlink()
            for path in made.paths:
                replace_file(out / path, (folder / path).read_bytes())
    except OSError as error:
        raise explain(error, out) from error
    return made


CHUNK_ROWS = 100  # rows whose texts share a file, which is loaded when one of them is read
PAGE = "index.html"
FUSION = "fusion.html"
_TO_FUSION = f'<a id="fusion" href="{FUSION}">Change its weights</a>'
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

    def finish(self, content: SiteContent, fusion: bytes | None = None) -> None:
        """Write all but the texts, once all of them were added.

        fusion: a page on which the run is weighed again, if it is one.
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
        if fusion is not None:
            self._write(FUSION, fusion)
        title = html.escape(f"{content.run['name']} · {content.run['dataset']}")
        page = (
            (_STATIC / PAGE)
            .read_text("utf-8")
            .replace("{links}", _TO_FUSION if fusion is not None else "")
        )
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
