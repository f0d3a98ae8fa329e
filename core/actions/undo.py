"""Undo an import."""

from __future__ import annotations

from core.actions.workspace import Workspace
from core.importing.undo import delete_import
from core.store import imports, runs
from core.store.imports import Import


def undo(workspace: Workspace, name: str, *, with_runs: bool = False) -> Import:
    """Undo an import, by id, file or run name. Raise StateError while runs predict its rows, unless `with_runs`."""
    with workspace.change("undo import", name) as (db, detail):
        by_run = next((imports.of_run(db, run.id) for run in runs.list_all(db) if run.name == name), None)
        found = by_run or imports.find(db, name)
        detail |= {"import": found.id, "file": found.file, "kind": found.kind, "rows": found.rows}
        removals = delete_import(db, workspace.settings, found, with_runs=with_runs)
    for remove in removals:
        remove()
    return found
