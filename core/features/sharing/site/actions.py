"""A run as a site: a folder of plain files, or a zip of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as replace_in
from io import BytesIO
from pathlib import Path

from core.base import environment
from core.base.archives import pack_into
from core.base.errors import StateError
from core.base.file_io import replace_file, temporary_folder
from core.base.system_errors import explain
from core.features import hooks
from core.features.sharing.report.walk import HOME, Links, walk_file
from core.features.sharing.site.content import Sources, read_content
from core.features.sharing.site.files import PAGE, SiteFiles
from core.features.sharing.walk_actions import find_walk
from core.runs import run_control
from core.runs.workspace import Workspace
from core.store import pairs, runs

__all__ = ["PAGE", "BuiltSite", "build_site", "write_site", "zip_site"]
_OLD = re.compile(r"texts-\d{4,}\.js|walk-\d+\.html")  # files of an earlier site


@dataclass(frozen=True, slots=True)
class BuiltSite:
    """The files of a site. paths: in its folder, the page last. size: in bytes. rows: of the run.
    name: to save them under."""

    paths: Sequence[str]
    size: int
    rows: int
    name: str


def build_site(
    workspace: Workspace, run: str, folder: Path, walks: Sequence[str] = (), links: Links = HOME
) -> BuiltSite:
    """Write the site of a run to an empty folder.

    walks: walk-throughs of the run's dataset that are in it, by name; links: where their stops
    lead, apart from the run's rows. Raise StateError while a worker is on the run, or if it
    contains an API key; InputError for a run without rows; NotFound.
    """
    found = runs.refuse_reading(run_control.settle_run(workspace, run))
    files = SiteFiles(folder)
    with workspace.store.read() as db:
        frame = pairs.frame(db, found.dataset)
        rows = zip(frame["pair_id"], frame["pert"], frame["gene"], strict=True)
        sources = Sources(environment.remover(workspace.settings), pairs.pairs_sha256(rows))
        for name in walks:
            find_walk(db, name, found.dataset)
        content = read_content(db, found, sources, files.add_texts)
        slides = [
            (name, walk_file(db, found.dataset, name, replace_in(links, site=found.id)))
            for name in walks
        ]
    tools = (find(workspace, found, labels=True) for find in hooks("hand_tools"))
    tool = next(filter(None, tools), None)
    files.finish(content, None if tool is None else tool.file(), slides)
    written = [folder / path for path in files.paths]
    environment.refuse_secrets(
        workspace.settings, f"run {found.name}", (file.read_bytes() for file in written)
    )
    name = re.sub(r"[^\w.-]+", "_", found.name).strip("._") or found.id
    size = sum(file.stat().st_size for file in written)
    return BuiltSite(files.paths, size, len(content.rows["pair_id"]), f"{name[:80]}-site")


def zip_site(
    workspace: Workspace, run: str, walks: Sequence[str] = (), links: Links = HOME
) -> tuple[BuiltSite, bytes]:
    """Return the site of a run, and its folder as a zip: the same run gives the same bytes. Raise
    as `build_site`."""
    out = BytesIO()
    with temporary_folder("site") as folder:
        made = build_site(workspace, run, folder, walks, links)
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
    walks: Sequence[str] = (),
    links: Links = HOME,
    replace: bool = False,
) -> BuiltSite:
    """Write the site of a run to a folder, the page last. walks, links: as of `build_site`.

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
        with temporary_folder("site") as folder:
            made = build_site(workspace, run, folder, walks, links)
            (out / "data").mkdir(parents=True, exist_ok=True)
            (out / PAGE).unlink(missing_ok=True)
            for old in (*out.glob("walk-*.html"), *out.glob("data/texts-*.js")):
                if _OLD.fullmatch(old.name):
                    old.unlink()
            for path in made.paths:
                replace_file(out / path, (folder / path).read_bytes())
    except OSError as error:
        raise explain(error, out) from error
    return made
