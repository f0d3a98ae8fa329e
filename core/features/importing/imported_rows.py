"""The rows of one imported file, written in one transaction and deleted by its undo: pairs, a
sample submission, or a run.

The dataset of a cell line of PerturbQA, made again from its files whenever one of them comes or
goes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.base.config import Settings
from core.base.errors import StateError
from core.base.texts import NO_LABEL
from core.base.types import Label, Rejected
from core.features.importing import dataset_choice
from core.features.importing.dataset_choice import (
    CellLine,
    choose_dataset,
    combine_files,
    symbols_of,
)
from core.features.importing.import_target import (
    Imported,
    ImportedRows,
    ImportOptions,
    folder_of,
    record_import,
    refuse_empty_import,
)
from core.features.importing.pairs import PairTable
from core.runs import packs
from core.runs.workspace import Workspace
from core.store import Cursor, changes, datasets, file_rows, imports, pairs, runs, spaces
from core.store.datasets import Dataset
from core.store.imports import Import


def write_pairs(
    db: Cursor, settings: Settings, table: PairTable, path: str, options: ImportOptions
) -> Imported:
    """Add the pairs that are new to their dataset; a label that contradicts the known one is
    rejected."""
    choice = choose_dataset(db, table, path, options)
    target = choice.dataset
    if choice.is_new:
        datasets.add(db, target)
    if table.cell_line is not None:
        return write_file(db, settings, table, path, target, options)
    known = pairs.label_columns(db, target.id)
    places = pc.index_in(table.rows["pair_id"], known["pair_id"])
    stated, known_labels = table.rows["label"], known["label"].take(places)
    is_other = pc.not_equal(*(pc.fill_null(labels, "") for labels in (stated, known_labels)))
    is_new = places.is_null().to_numpy()
    differs = ~is_new & is_other.to_numpy()
    rejected = [*table.rejected]
    for at in np.flatnonzero(differs).tolist():
        label, known_label = (
            f"label {one}" if (one := labels[at].as_py()) else NO_LABEL
            for labels in (stated, known_labels)
        )
        pair_id = table.rows["pair_id"][at].as_py()
        detail = f"{pair_id} has {label} in this file, {known_label} in dataset {target.name}"
        rejected.append(Rejected(path, table.lines[at], "conflicting label", detail))
    n_rows, new_rows = len(table.rows) - int(differs.sum()), table.rows.filter(pa.array(is_new))
    refuse_empty_import(path, n_rows, rejected, options)
    source = record_import(db, settings, table, path, ImportedRows(n_rows, rejected, target.id))
    pairs.add_rows(db, target.id, new_rows, source)
    pairs.add_genes(db, symbols_of(new_rows), {})
    packs.describe_genes(db, settings)
    n_known = n_rows - len(new_rows)
    known_rows_said = (f"{n_known} rows were already in {target.name}",) if n_known else ()
    why = (
        (f"{choice.describe()}: {choice.reason}",)
        if choice.is_new and target.name != dataset_choice.NAME and choice.reason
        else ()
    )
    message = "; ".join((*why, *known_rows_said, *table.notes))
    return Imported(path, table.kind, target.name, n_rows, tuple(rejected), message=message)


def write_file(
    db: Cursor,
    settings: Settings,
    table: PairTable,
    path: str,
    target: Dataset,
    options: ImportOptions,
) -> Imported:
    """Add a file's rows to its cell line; rows that contradict the line's other files are rejected,
    whichever came first.

    Raise InputError as `refuse_empty_import` does.
    """
    before = combine_files(file_rows.of_dataset(db, target.id))
    source = record_import(
        db, settings, table, path, ImportedRows(len(table.pairs), table.rejected, target.id)
    )
    file_rows.add(db, source, table.pairs, table.lines)
    line = combine(db, target.id)
    conflicts = line.rejected.get(source, ())  # none of a file whose rows were all rejected
    rejected = [*table.rejected, *conflicts]
    n_rows = len(table.pairs) - len(conflicts)
    elsewhere = [
        row
        for other, rows in before.rejected.items()
        for row in line.rejected[other]
        if row not in rows
    ]
    refuse_empty_import(
        path, n_rows, [*rejected, *elsewhere] if options.strict else rejected, options
    )
    pairs.add_genes(db, symbols_of(table.rows), {})
    packs.describe_genes(db, settings)
    message = "; ".join((*_describe_rows(line, target.name, elsewhere), *table.notes))
    return Imported(path, table.kind, target.name, n_rows, tuple(rejected), message=message)


def combine(db: Cursor, dataset: str) -> CellLine:
    """Recompute the rows of a cell line from its files, and return them."""
    files = file_rows.of_dataset(db, dataset)
    line = combine_files(files)
    pairs.replace(db, dataset, line.pairs, line.sources)
    for file in files:
        conflicts = line.rejected[file.source]
        imports.replace_conflicts(db, file.source, conflicts, len(file.pairs) - len(conflicts))
    return line


def _describe_rows(line: CellLine, name: str, elsewhere: Sequence[Rejected]) -> tuple[str, ...]:
    if len(line.rejected) == 1:
        return ()
    directed = sum(pair.label in (Label.UP, Label.DOWN) for pair in line.pairs)
    described = f"{name} has {len(line.pairs):,} rows now, {directed:,} of them with a direction"
    contradicted = (
        f"; {len(elsewhere):,} rows of {', '.join(sorted({row.file for row in elsewhere}))}"
        " contradict it and are rejected"
    )
    return (described + (contradicted if elsewhere else ""),)


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
    from core.features.importing.spaces import space_files

    removals: list[Callable[[], None]] = []
    for pack in spaces.list_packs(db):
        if pack.source_file == entry.id:
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
    from core.runs.run_folder import folder_of_run
    from core.runs.run_state import refuse_live

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
    combine(db, entry.dataset)
    return runs.names_without_rows(db, entry.dataset)
