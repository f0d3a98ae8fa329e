"""A run as a site: a folder of plain files, or a zip of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from core.actions import fusion_files, machine_names
from core.actions.bundles import settle_run
from core.actions.workspace import Workspace
from core.datasets.archives import pack_into
from core.datasets.bundles import pairs_sha256
from core.errors import StateError
from core.explorer.component import make_file
from core.file_io import replace_file
from core.site.content import Sources, read_content
from core.site.files import PAGE, SiteFiles
from core.store import Cursor, pairs, runs
from core.system_errors import explain

__all__ = ["PAGE", "BuiltSite", "build_site", "write_site"]
_OLD_TEXTS = re.compile(r"texts-\d{4,}\.js")


@dataclass(frozen=True, slots=True)
class BuiltSite:
    """The files of a site by their paths. rows: of the run. name: to save them under."""

    files: Mapping[str, bytes]
    rows: int
    name: str

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(map(len, self.files.values()))

    def as_zip(self) -> bytes:
        """Return the folder as a zip: equal files give equal bytes."""
        out = BytesIO()
        pack_into(out, lambda: ((f"{self.name}/{path}", content) for path, content in self.files.items()))
        return out.getvalue()


def build_site(workspace: Workspace, run: str, walks: Sequence[tuple[str, bytes]] = ()) -> BuiltSite:
    """Make the site of a run in memory. walks: name and slides of each walk-through that is in it.

    Raise StateError while a worker is on the run, or if it contains an API key; InputError for a run without rows.
    """
    found = runs.refuse_reading(settle_run(workspace, run))
    files = SiteFiles()
    with workspace.store.read() as db:
        sources = Sources(machine_names.remover(workspace.settings), _dataset_sha256(db, found.dataset))
        content = read_content(db, found, sources, files.add_texts)
    explorer = fusion_files.find_explorer(workspace, found, labels=True)
    files.finish(content, None if explorer is None else make_file(explorer), walks)
    machine_names.refuse_secrets(workspace.settings, f"run {found.name}", files.values())
    name = re.sub(r"[^\w.-]+", "_", found.name).strip("._") or found.id
    return BuiltSite(files, len(content.rows["pair_id"]), f"{name[:80]}-site")


def _dataset_sha256(db: Cursor, dataset: str) -> str:
    frame = pairs.frame(db, dataset)
    return pairs_sha256(zip(frame["pair_id"], frame["pert"], frame["gene"], strict=True))


def write_site(
    workspace: Workspace, run: str, out: Path, *, walks: Sequence[tuple[str, bytes]] = (), replace: bool = False
) -> BuiltSite:
    """Write the site of a run to a folder, the page last. walks: as of `build_site`.

    replace: also into a folder that is not empty, where other files stay as they are. Raise StateError if the folder is not
    empty, unless `replace`, and SystemFailure if it cannot be written.
    """
    try:
        _refuse_occupied(out, replace)
        made = build_site(workspace, run, walks)
        (out / "data").mkdir(parents=True, exist_ok=True)
        (out / PAGE).unlink(missing_ok=True)
        for old in out.glob("walk-*.html"):
            if old.name not in made.files:
                old.unlink()
        for old in (out / "data").iterdir():
            if _OLD_TEXTS.fullmatch(old.name) and f"data/{old.name}" not in made.files:
                old.unlink()
        for path, content in made.files.items():
            replace_file(out / path, content)
    except OSError as error:
        raise explain(error, out) from error
    return made


def _refuse_occupied(out: Path, replace: bool) -> None:
    """Raise StateError for a path that is no folder, or a folder that is not empty, unless `replace`."""
    if out.exists() and not out.is_dir():
        raise StateError(f"{out}: a file, expected an empty or new folder")
    with suppress(FileNotFoundError):
        if not replace and any(out.iterdir()):
            raise StateError(f"{out}: not empty, expected an empty or new folder, or --replace")
