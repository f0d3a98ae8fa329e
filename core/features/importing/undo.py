"""Undo an import."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial

from core.base.config import Settings
from core.base.errors import StateError
from core.features.importing import imported_rows
from core.features.importing.import_target import folder_of
from core.features.importing.spaces import space_files
from core.runs import packs
from core.runs.run_folder import folder_of_run
from core.runs.run_state import refuse_live
from core.runs.workspace import Workspace
from core.store import Cursor, changes, datasets, file_rows, imports, pairs, runs, spaces
from core.store.imports import Import


def undo(workspace: Workspace, name: str, *, with_runs: bool = False) -> Import:
    """Undo an import, by id, file or run name. Raise StateError while runs predict its rows, unless
    `with_runs`."""
    with workspace.change("undo import", name) as (db, detail):
        by_run = next(
            (imports.of_run(db, run.id) for run in runs.list_all(db) if run.name == name), None
        )
        found = by_run or imports.find(db, name)
        detail |= {"import": found.id, "file": found.file, "kind": found.kind, "rows": found.rows}
        removals = delete_import(db, workspace.settings, found, with_runs=with_runs)
    for remove in removals:
        remove()
    return found


def delete_import(
    db: Cursor, settings: Settings, found: Import, *, with_runs: bool
) -> list[Callable[[], None]]:
    """Delete what an import brought, and its record; return what deletes the files of that after
    the transaction.

    Raise StateError while runs predict its rows, unless `with_runs`.
    """
    files = _delete_packs_and_spaces(db, settings, found)
    if found.run is not None:
        runs.delete(db, found.run)
        changes.bump(db, f"run:{found.run}")
    elif found.dataset is not None:
        files += _undo_pairs(db, settings, found, with_runs)
        written = folder_of(settings, found.kind, found.dataset)
        files.append(partial(shutil.rmtree, written, ignore_errors=True))
    imports.delete(db, found.id)
    dropped = found.dataset is not None and datasets.drop_if_empty(db, found.dataset)
    changes.bump(db, "runs", "notes")
    if found.run is None or dropped:  # else everybody's pages would compute everything anew
        changes.bump(db, "datasets", "spaces")
    return files


def _delete_packs_and_spaces(
    db: Cursor, settings: Settings, entry: Import
) -> list[Callable[[], None]]:
    """Delete an import's records; return a function that deletes their files afterwards. Genes keep
    their descriptions."""
    removals: list[Callable[[], None]] = []
    for pack in spaces.list_packs(db):
        if pack.source_file == entry.id:
            packs.keep_for_runs(db, settings, pack)
            spaces.delete_pack(db, pack.name)
            removals.append(partial(packs.remove_file, settings, pack))
    for space in spaces.list_all(db):
        if space.source_file == entry.id:
            spaces.delete(db, space.id)
            removals.append(partial(space_files.remove_file, settings, space))
    return removals


def _undo_pairs(
    db: Cursor, settings: Settings, entry: Import, with_runs: bool
) -> list[Callable[[], None]]:
    """Delete the rows and the runs that predict them; return a function that deletes the runs'
    journals afterwards."""
    dependent = _delete_rows(db, entry)
    if dependent and not with_runs:
        raise StateError(
            f"{entry.file}: {len(dependent)} runs predict its rows ({', '.join(dependent)}); undo"
            " those first"
        )
    removals: list[Callable[[], None]] = []
    for run in runs.list_all(db, entry.dataset):
        if run.name in dependent:
            refuse_live(folder_of_run(settings, run.id))
            imports.delete_with_run(db, run.id)
            removals.append(folder_of_run(settings, run.id).remove)
    return removals


def _delete_rows(db: Cursor, entry: Import) -> list[str]:
    """Delete the rows of an import, and return the names of the runs that predict one of them.

    Of a cell line, rows that another file says something of stay, with the labels that are left.
    """
    if entry.dataset is None or entry.kind != "perturbqa":
        dependent = runs.names_using_import(db, entry.id)
        pairs.delete_import(db, entry.id)
        return dependent
    file_rows.delete(db, entry.id)
    imported_rows.combine(db, entry.dataset)
    return runs.names_without_rows(db, entry.dataset)
