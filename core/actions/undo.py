"""Undo an import."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from core.actions import cells, imported_rows, packs
from core.actions import spaces as space_actions
from core.actions.workspace import Workspace
from core.engine.run_state import refuse_live
from core.errors import StateError
from core.store import Cursor, changes, datasets, file_rows, imports, pairs, runs, spaces
from core.store.imports import Import


def undo(workspace: Workspace, name: str, *, with_runs: bool = False) -> Import:
    """Undo an import, by id, file or run name. Raise StateError while runs predict its rows, unless `with_runs`."""
    with workspace.change("undo import", name) as (db, detail):
        by_run = next((imports.of_run(db, run.id) for run in runs.list_all(db) if run.name == name), None)
        found = by_run or imports.find(db, name)
        detail |= {"import": found.id, "file": found.file, "kind": found.kind, "rows": found.rows}
        files = _delete_packs_and_spaces(db, workspace, found)
        if found.run is not None:
            runs.delete(db, found.run)
            changes.bump(db, f"run:{found.run}")
        elif found.dataset is not None:
            files += _undo_pairs(workspace, db, found, with_runs)
            if found.kind == cells.KIND:
                files.append(partial(cells.remove_tables, workspace, found.dataset))
        imports.delete(db, found.id)
        dropped = found.dataset is not None and datasets.drop_if_empty(db, found.dataset)
        changes.bump(db, "runs", "notes")
        if found.run is None or dropped:  # else everybody's pages would compute everything again
            changes.bump(db, "datasets", "spaces")
    for remove in files:
        remove()
    return found


def _delete_packs_and_spaces(db: Cursor, workspace: Workspace, entry: Import) -> list[Callable[[], None]]:
    """Delete an import's records; return a function that deletes their files afterwards. Genes keep their descriptions."""
    removals: list[Callable[[], None]] = []
    for pack in spaces.list_packs(db):
        if pack.source_file == entry.id:
            packs.keep_for_runs(workspace, db, pack)
            spaces.delete_pack(db, pack.name)
            removals.append(partial(packs.remove_file, workspace, pack))
    for space in spaces.list_all(db):
        if space.source_file == entry.id:
            spaces.delete(db, space.id)
            removals.append(partial(space_actions.remove_file, workspace, space))
    return removals


def _undo_pairs(workspace: Workspace, db: Cursor, entry: Import, with_runs: bool) -> list[Callable[[], None]]:
    """Delete the rows and the runs that predict them; return a function that deletes the runs' journals afterwards."""
    dependent = _delete_rows(db, entry)
    if dependent and not with_runs:
        raise StateError(f"{entry.file}: {len(dependent)} runs predict its rows ({', '.join(dependent)}); undo those first")
    removals: list[Callable[[], None]] = []
    for run in runs.list_all(db, entry.dataset):
        if run.name in dependent:
            refuse_live(workspace.run_folder(run.id))
            imports.delete_with_run(db, run.id)
            removals.append(workspace.run_folder(run.id).remove)
    return removals


def _delete_rows(db: Cursor, entry: Import) -> list[str]:
    """Delete the rows of an import, and return the names of the runs that predict one of them.

    Of a cell line, rows that another file says something of stay, with the labels that are left.
    """
    if entry.dataset is None or entry.kind != "perturbqa" or datasets.find(db, entry.dataset).kind != "ternary":
        dependent = runs.names_using_import(db, entry.id)
        pairs.delete_import(db, entry.id)
        return dependent
    file_rows.delete(db, entry.id)
    imported_rows.combine(db, entry.dataset)
    return runs.names_without_rows(db, entry.dataset)
