"""The runs that files of predictions and scores bring: their dataset, their names, and their rows,
written in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.base.archives import bare_name
from core.base.config import Settings
from core.base.errors import InputError, StateError
from core.base.hashes import sha256_of
from core.base.texts import quote
from core.base.types import EXTERNAL_SCORE, Rejected
from core.features.importing.external_scores import Columns, ScoreTable, choose_columns, run_of
from core.features.importing.import_target import (
    Imported,
    ImportedRows,
    ImportOptions,
    record_import,
    refuse_empty_import,
)
from core.features.importing.submissions import SubmissionTable, spool_rows
from core.runs import audited_rows
from core.runs.audited_rows import AuditedRows
from core.runs.run_folder import folder_of_run
from core.runs.run_state import refuse_live
from core.scoring.score_result import same_runs_sentence
from core.stats.arrays import Bools
from core.store import Cursor, changes, datasets, imports, notes, pairs, runs
from core.store.datasets import Dataset
from core.store.runs import Run


def split_scores(
    table: ScoreTable, path: str, options: ImportOptions
) -> Iterator[tuple[SubmissionTable, str]]:
    """Return the runs of a file of external scores with their names.

    A run is made when it is asked for, since each has the rows of the file. Raise InputError for
    one name for several runs.
    """
    found = choose_columns(table, options.de, options.dir)
    if options.name and len(found) > 1:
        raise InputError(
            f"--name {options.name}: {path} makes {len(found)} runs, expected one; choose columns"
            " by --de and --dir"
        )
    return ((_spooled(table, columns), f"{path} [{columns.name}]") for columns in found)


def _spooled(table: ScoreTable, columns: Columns) -> SubmissionTable:
    return spool_rows(lambda spool: run_of(table, columns, spool.add))


def rows_of(table: SubmissionTable) -> AuditedRows:
    """Return the rows of a run that was read for an import."""
    assert table.audited is not None
    return table.audited


def run_name(table: SubmissionTable, path: str) -> str:
    """Return the name of a file's run: from the file, and from the columns of external scores."""
    if table.kind != EXTERNAL_SCORE:
        return Path(bare_name(path)).stem
    file, _, columns = Path(path).name.partition(" [")
    return f"{Path(bare_name(file)).stem} {columns.removesuffix(']')}"


def find_run(db: Cursor, run: str) -> Run | None:
    """Return the run with this id; None if it is not here."""
    return next((each for each in runs.list_all(db) if each.id == run), None)


def dataset_of_rows(
    db: Cursor, pair_ids: pa.ChunkedArray, path: str, options: ImportOptions
) -> Dataset:
    """Return the chosen dataset, else the one that knows most of these ids. Raise InputError if
    none knows any."""
    if options.dataset is not None:
        return datasets.find(db, options.dataset)
    known = pairs.datasets_with(db, pair_ids)
    if not known:
        first = pair_ids[0].as_py() if len(pair_ids) else "…"
        raise InputError(
            f"{path}: no dataset here knows any of its {len(pair_ids)} ids, such as"
            f" {quote(first)}; expected PERT_GENE of a dataset that is here."
            " Import its files first (of the challenge, train.csv and test.csv), or say by --column"
            " id=NAME, or pert=NAME and gene=NAME, which columns name the pairs"
        )
    return datasets.find(db, known[0][0])


def known_rows(
    db: Cursor, target: Dataset, ids: pa.ChunkedArray, lines: Sequence[int], path: str
) -> tuple[Bools, list[Rejected]]:
    """Return whether a dataset has each row, and the rejections of rows that it lacks."""
    known = pairs.label_columns(db, target.id)["pair_id"]
    keep: Bools = pc.is_in(ids, value_set=known).to_numpy()
    rejected = [
        Rejected(
            path, lines[at], "unknown id", f"{ids[at].as_py()!r} is not in dataset {target.name}"
        )
        for at in np.flatnonzero(~keep).tolist()
    ]
    return keep, rejected


def free_name(
    db: Cursor, dataset: str, wanted: str, path: str, sha256: str, options: ImportOptions
) -> tuple[str, Run | None]:
    """Return a name for the run, and the run of that name to replace: the chosen name, or the
    file's, with a hash if taken.

    Raise StateError if a chosen name is another run's, unless options.replace.
    """
    name = options.name or wanted
    existing = next((run for run in runs.list_all(db, dataset) if run.name == name), None)
    if existing is None or options.replace:
        return name, existing
    if options.name:
        raise StateError(
            f"{path}: run {name!r} exists with other content; choose another --name, or use"
            " --replace"
        )
    return f"{name} ({sha256[:6]})", None


def delete_replaced_run(db: Cursor, settings: Settings, run: Run) -> dict[str, object]:
    """Delete a run that is replaced; return its entry for the audit log. `RunFolder.remove` deletes
    its journal afterwards.

    Raise StateError while a worker runs it.
    """
    refuse_live(folder_of_run(settings, run.id))
    detail: dict[str, object] = {
        "replaced": run.id,
        "replaced_notes": notes.of_run(db, run.id).to_dict("records"),
    }
    imports.delete_with_run(db, run.id)
    changes.bump(db, "notes", f"run:{run.id}")
    return detail


def write_run(
    db: Cursor, settings: Settings, table: SubmissionTable, path: str, options: ImportOptions
) -> tuple[Imported, dict[str, object]]:
    """Return the outcome for a submission, and what the audit log records of a run that it
    replaced."""
    target, keep, rejected = _match_rows(db, table, path, options)
    if table.kind == "sample_submission":  # a form to fill in
        n_rows = int(keep.sum())
        record_import(db, settings, table, path, ImportedRows(n_rows, rejected, target.id))
        message = "an empty form: its ids match; no run was made"
        return Imported(path, table.kind, target.name, n_rows, tuple(rejected), message=message), {}
    rows = rows_of(table)
    known = rows.without(rows.pair_ids.filter(pa.array(~keep)).to_pylist())
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
    record_import(db, settings, table, path, ImportedRows(run.done, rejected, target.id, run.id))
    remark = table.remark or (str(table.note) if table.spec.get("turned") else "")
    same = same_runs_sentence(run.name, [other.name for other in runs.list_same(db, run)])
    message = "; ".join(filter(None, (remark, *table.notes, same)))
    return Imported(
        path, table.kind, run.name, run.done, tuple(rejected), message=message
    ), replaced


def _match_rows(
    db: Cursor, file: SubmissionTable, path: str, options: ImportOptions
) -> tuple[Dataset, Bools, list[Rejected]]:
    """Return the dataset of a submission, which of its rows the dataset knows, and every rejected
    row."""
    ids, found = rows_of(file).pair_ids, list(file.rejected)
    if not len(ids):
        refuse_empty_import(path, 0, found, options)
    target = dataset_of_rows(db, ids, path, options)
    keep, unknown = known_rows(db, target, ids, file.lines, path)
    rejected = [*found, *unknown]
    refuse_empty_import(path, int(keep.sum()), rejected, options)
    return target, keep, rejected


def _run_id(table: SubmissionTable, dataset: Dataset) -> str:
    return sha256_of(f"{table.sha256} {dataset.name}")[:10]


def find_bundled_run(
    db: Cursor, table: SubmissionTable, path: str, options: ImportOptions
) -> Imported | None:
    """Return the outcome for a submission whose run is here because a bundle brought it; None for
    any other."""
    ids = rows_of(table).pair_ids
    if not len(ids) or table.kind != "submission":
        return None
    key = _run_id(table, dataset_of_rows(db, ids, path, options))
    existing = find_run(db, key)
    if existing is None:
        return None
    message = f"{path}: imported already as {existing.name} from a bundle; nothing changed"
    return Imported(
        path, table.kind, existing.name, existing.done, table.rejected, new=False, message=message
    )
