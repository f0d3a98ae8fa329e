"""The rows of one imported file, written in one transaction: pairs, a sample submission, or a run.

The dataset of a cell line of PerturbQA, made again from its files whenever one of them comes or
goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.base.config import Settings
from core.base.hashes import sha256_of
from core.base.texts import NO_LABEL
from core.base.types import Label, Rejected
from core.features.importing import challenge
from core.features.importing.cell_lines import CellLine, combine_files
from core.features.importing.dataset_choice import choose_dataset
from core.features.importing.files import SubmissionFile
from core.features.importing.import_target import (
    Imported,
    ImportedRows,
    ImportOptions,
    dataset_of_rows,
    delete_replaced_run,
    free_name,
    known_rows,
    record_import,
    refuse_empty_import,
)
from core.features.importing.pairs import PairTable
from core.features.importing.score_columns import run_name
from core.features.importing.submissions import SubmissionTable
from core.runs import audited_rows, packs
from core.scoring.score_result import same_runs_sentence
from core.store import Cursor, datasets, file_rows, imports, pairs, runs
from core.store.datasets import Dataset


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
    known = pairs.labels(db, target.id)
    n_rows, new_pairs, rejected = 0, [], list(table.rejected)
    for pair, line in zip(table.pairs, table.lines, strict=True):
        if pair.pair_id not in known:
            new_pairs.append(pair)
        elif known[pair.pair_id] != pair.label:
            label, known_label = (
                f"label {one}" if one else NO_LABEL for one in (pair.label, known[pair.pair_id])
            )
            detail = (
                f"{pair.pair_id} has {label} in this file, {known_label} in dataset {target.name}"
            )
            rejected.append(Rejected(path, line, "conflicting label", detail))
            continue
        n_rows += 1
    refuse_empty_import(path, n_rows, rejected, options)
    source = record_import(db, settings, table, path, ImportedRows(n_rows, rejected, target.id))
    pairs.add(db, target.id, new_pairs, source)
    pairs.add_genes(db, [symbol for pair in new_pairs for symbol in (pair.pert, pair.gene)], {})
    packs.describe_genes(db, settings)
    n_known = n_rows - len(new_pairs)
    known_rows_said = (f"{n_known} rows were already in {target.name}",) if n_known else ()
    why = (
        (f"{choice.describe()}: {choice.reason}",)
        if choice.is_new and target.name != challenge.NAME and choice.reason
        else ()
    )
    message = "; ".join((*why, *known_rows_said, *table.notes))
    return Imported(path, table.kind, target.name, n_rows, tuple(rejected), message=message)


def write_sample(
    db: Cursor, settings: Settings, file: SubmissionFile, path: str, options: ImportOptions
) -> Imported:
    """Record a sample submission, a form to fill in: its ids are checked, no run is made."""
    target, keep, rejected = _match_rows(db, file, path, options)
    record_import(db, settings, file, path, ImportedRows(sum(keep), rejected, target.id))
    return Imported(
        path,
        file.kind,
        target.name,
        sum(keep),
        tuple(rejected),
        message="an empty form: its ids match; no run was made",
    )


def write_run(
    db: Cursor, settings: Settings, file: SubmissionFile, path: str, options: ImportOptions
) -> tuple[Imported, dict[str, object]]:
    """Return the outcome for a submission, and what the audit log records of a run that it
    replaced."""
    table = file.table
    target, keep, rejected = _match_rows(db, file, path, options)
    known = file.rows.without(
        [
            pair_id
            for pair_id, is_known in zip(file.rows.pair_ids, keep, strict=True)
            if not is_known
        ]
    )
    name, existing = free_name(db, target.id, run_name(table, path), path, table.sha256, options)
    replaced = {} if existing is None else delete_replaced_run(db, settings, existing)
    run = audited_rows.write_run(
        db,
        known,
        id=_run_id(table, target),
        dataset=target.id,
        name=name,
        method=table.method,
        origin="imported",
        spec={
            "method": table.method,
            "file": Path(path).name,
            "sha256": table.sha256,
            **table.spec,
        },
        track=table.track,
        note=table.note,
        model=table.model_name or None,
    )
    record_import(db, settings, file, path, ImportedRows(run.done, rejected, target.id, run.id))
    remark = table.remark or (str(table.note) if table.spec.get("turned") else "")
    same = same_runs_sentence(run.name, [other.name for other in runs.list_same(db, run)])
    message = "; ".join(filter(None, (remark, *table.notes, same)))
    return Imported(path, file.kind, run.name, run.done, tuple(rejected), message=message), replaced


def _match_rows(
    db: Cursor, file: SubmissionFile, path: str, options: ImportOptions
) -> tuple[Dataset, list[bool], list[Rejected]]:
    """Return the dataset of a submission, which of its rows the dataset knows, and every rejected
    row."""
    ids, found = file.rows.pair_ids, list(file.rejected)
    if not ids:
        refuse_empty_import(path, 0, found, options)
    target = dataset_of_rows(db, ids, path, options)
    keep, unknown = known_rows(db, target, ids, file.table.lines, path)
    rejected = [*found, *unknown]
    refuse_empty_import(path, sum(keep), rejected, options)
    return target, keep, rejected


def _run_id(table: SubmissionTable, dataset: Dataset) -> str:
    return sha256_of(f"{table.sha256} {dataset.name}")[:10]


def find_bundled_run(
    db: Cursor, file: SubmissionFile, path: str, options: ImportOptions
) -> Imported | None:
    """Return the outcome for a submission whose run is here because a bundle brought it; None for
    any other."""
    table, ids = file.table, file.rows.pair_ids
    if not ids or table.kind != "submission":
        return None
    key = _run_id(table, dataset_of_rows(db, ids, path, options))
    existing = next((run for run in runs.list_all(db) if run.id == key), None)
    if existing is None:
        return None
    message = f"{path}: imported already as {existing.name} from a bundle; nothing changed"
    return Imported(
        path, table.kind, existing.name, existing.done, table.rejected, new=False, message=message
    )


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
    pairs.add_genes(db, [symbol for pair in table.pairs for symbol in (pair.pert, pair.gene)], {})
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
