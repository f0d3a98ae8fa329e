"""Take back an import."""

from __future__ import annotations

from core.actions.desk import Desk
from core.errors import StateError
from core.store import Cursor, datasets, imports, pairs, runs, versions
from core.store.imports import Import


def undo(desk: Desk, name: str, *, with_runs: bool = False) -> Import:
    """Take back an import, by id, file or run name. Raises StateError while runs stand on its rows, unless `with_runs`."""
    with desk.change("undo import", name) as (db, detail):
        found = _find_import(db, name)
        detail |= {"import": found.id, "file": found.file, "kind": found.kind, "rows": found.rows}
        if found.run is not None:
            runs.delete(db, found.run)
            versions.bump(db, f"run:{found.run}")
        else:
            _undo_pairs(db, found, with_runs)
        imports.delete(db, found.id)
        datasets.drop_if_empty(db, found.dataset)
        versions.bump(db, "runs", "datasets", "notes")
        return found


def _find_import(db: Cursor, name: str) -> Import:
    by_run = next((imports.of_run(db, run.id) for run in runs.all_of_them(db) if run.name == name), None)
    return by_run or imports.find(db, name)


def _undo_pairs(db: Cursor, found: Import, with_runs: bool) -> None:
    relying = runs.relying_on(db, found.id)
    if relying and not with_runs:
        raise StateError(f"{found.file}: {len(relying)} runs stand on its rows ({', '.join(relying)}); undo those first")
    for run in runs.all_of_them(db, found.dataset):
        if run.name in relying:
            imports.delete_with_run(db, run.id)
    pairs.delete_import(db, found.id)
