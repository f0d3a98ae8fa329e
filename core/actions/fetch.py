"""Fetch public files and import them."""

from __future__ import annotations

from core.actions.imports import Imported, import_paths
from core.actions.runs import set_values
from core.actions.workspace import Workspace
from core.datasets import SOURCES, fetch
from core.datasets.fetch import GITHUB, Progress

GROUPS = tuple(SOURCES)


def fetch_and_import(workspace: Workspace, group: str, progress: Progress | None = None) -> list[Imported]:
    """Downloads one of SOURCES' groups into data/fetched (what is there and whole is not fetched again) and imports it.

    Public scores that were published for a run are recorded with it. Raises Unreachable, WrongContent or InputError.
    """
    workspace.refuse_if_read_only("fetch", group)
    folder = workspace.settings.data / "fetched" / group
    files = fetch(group, folder, base=workspace.settings.mirror or GITHUB, progress=progress)
    outcomes = import_paths(workspace, files)
    scores = {folder / source.file: source.public_score for source in SOURCES[group]}
    for outcome in outcomes:
        score = scores.get(folder / outcome.path)
        if score is not None and outcome.name is not None and outcome.new:
            set_values(workspace, outcome.name, {"public_score": str(score)})
    return outcomes
