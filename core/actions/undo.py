"""Undo an import."""

from __future__ import annotations

from core.actions.workspace import Workspace
from core.importing.undo import delete_import, find_import
from core.store.imports import Import


def undo(workspace: Workspace, name: str, *, with_runs: bool = False) -> Import:
    """Undo an import, by id, file or run name. Raise StateError while runs predict its rows, unless `with_runs`."""
    with workspace.change("undo import", name) as (db, detail):
        found = find_import(db, name)
        detail |= {"import": found.id, "file": found.file, "kind": found.kind, "rows": found.rows}
        removals = delete_import(db, workspace.settings, found, with_runs=with_runs)
    for remove in removals:
        remove()
    return found
