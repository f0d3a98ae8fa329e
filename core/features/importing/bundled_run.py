"""The run of a bundle: the dataset whose rows it predicts, and how it enters the store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace as replace_in
from typing import Any

import pyarrow as pa

from core.base.config import Settings
from core.base.errors import InputError, StateError
from core.base.row_schema import field_names
from core.base.texts import printable
from core.base.types import Flag, Rejected, RunRecord
from core.features.importing import bundle_tables as records
from core.features.importing.bundle_parts import select_rows
from core.features.importing.bundles import Bundle, BundledDataset
from core.features.importing.files import BundleFile
from core.features.importing.import_target import (
    Imported,
    ImportedRows,
    ImportOptions,
    delete_replaced_run,
    free_name,
    known_rows,
    record_import,
    refuse_empty_import,
)
from core.methods.brief_checks import check_brief, citable_by, citable_terms
from core.store import Cursor, datasets, pairs, runs
from core.store.datasets import Dataset
from core.store.runs import Run
from core.store.traces import split_events

SIMULATED = "simulated"  # an origin that travels: what is simulated says so wherever it is


def find_run(db: Cursor, run: str) -> Run | None:
    """Return the run with this id; None if it is not here."""
    return next((each for each in runs.list_all(db) if each.id == run), None)


def record_values(run: RunRecord) -> dict[str, Any]:
    """Return the fields that a run in the store and a run in a bundle share."""
    return {name: getattr(run, name) for name in field_names(RunRecord)}


def bundled_dataset(db: Cursor, dataset: Dataset) -> BundledDataset:
    """Return what a bundle says of the dataset of its run."""
    frame = pairs.frame(db, dataset.id)
    rows = zip(frame["pair_id"], frame["pert"], frame["gene"], strict=True)
    return BundledDataset(
        dataset.name,
        "ternary",
        dataset.organism,
        dataset.context,
        len(frame),
        pairs.pairs_sha256(rows),
    )


def store_run(
    db: Cursor, settings: Settings, file: BundleFile, path: str, options: ImportOptions
) -> tuple[Imported, dict[str, object]]:
    """Store the run of a bundle; return the outcome, and what the audit log records of a run that
    it replaced."""
    bundled, replaced = file.bundle.run, dict[str, object]()
    target, keep, rejected = _match_rows(db, file.bundle, path, options)
    existing = find_run(db, bundled.id)
    if existing is not None:
        replaced |= delete_replaced_run(db, settings, existing)
    # a file replaces one run, not two
    naming = replace_in(options, replace=options.replace and existing is None)
    name, other = free_name(db, target.id, bundled.name, path, file.sha256, naming)
    if other is not None and other.id in bundled.parents:
        raise StateError(
            f"{path}: run {name!r} is a parent of the run that would replace it; choose another"
            " --name"
        )
    if other is not None:
        replaced |= delete_replaced_run(db, settings, other)
    parts = file.bundle.parts
    records.refuse_wrong_ids(parts["evidence"].to_batches(), parts["call"].to_batches())
    values = record_values(bundled) | {
        "name": name,
        "dataset": target.id,
        "total": bundled.total - len(rejected),
    }
    values["origin"] = SIMULATED if bundled.origin == SIMULATED else "imported"
    runs.add(db, Run(**values))
    records.add(db, bundled.id, select_rows(parts, pa.array(keep)))
    _update_findings(db, bundled.id)
    records.add_origin(db, bundled.id, bundled.origin, bundled.parent_names)
    runs.update_counts(db, bundled.id)
    record_import(
        db, settings, file, path, ImportedRows(sum(keep), rejected, target.id, bundled.id)
    )
    return Imported(path, file.kind, name, sum(keep), tuple(rejected)), replaced


def _update_findings(cursor: Cursor, run: str) -> None:
    """Set the findings of a run's briefs, the flag of the rows in which a role collapsed, and the
    number of these rows.

    A row whose method found the collapse keeps its flag.
    """
    dossiers = dict(_dossiers(cursor, run))
    places: list[tuple[str, int]] = []
    found: list[tuple[str, ...]] = []
    for batch in split_events(cursor, "e.run = ? AND e.kind = 'brief'", [run], "e.pair_id, e.seq"):
        query = (
            f"SELECT e.pair_id, e.seq, e.role, e.content FROM trace_event e WHERE {batch.condition}"
            " ORDER BY e.pair_id, e.seq"
        )
        for pair_id, seq, role, text in cursor.execute(query, batch.values).fetchall():
            places.append((pair_id, seq))
            found.append(check_brief(role, text, pair_id, dossiers.get(pair_id, ())))
    columns = {
        "pair_id": [pair_id for pair_id, _ in places],
        "seq": pa.array([seq for _, seq in places], pa.int16()),
        "findings": pa.array(found, pa.list_(pa.string())),
        "is_collapsed": pa.array(["answers" in findings for findings in found], pa.bool_()),
    }
    cursor.register("found", pa.table(columns))
    try:
        cursor.execute(
            """UPDATE trace_event e SET findings = f.findings FROM found f
               WHERE e.run = ? AND e.pair_id = f.pair_id AND e.seq = f.seq""",
            [run],
        )
        cursor.execute(
            """UPDATE prediction SET flags = list_append(flags, ?) WHERE run = ? AND NOT
            list_contains(flags, ?)
               AND pair_id IN (SELECT pair_id FROM found WHERE is_collapsed)""",
            [str(Flag.ROLE_COLLAPSE), run, str(Flag.ROLE_COLLAPSE)],
        )
    finally:
        cursor.unregister("found")
    cursor.execute(
        "UPDATE run SET collapsed = (SELECT count(*) FROM prediction WHERE run = ? AND"
        " list_contains(flags, ?)) WHERE id = ?",
        [run, str(Flag.ROLE_COLLAPSE), run],
    )


def _dossiers(cursor: Cursor, run: str) -> Iterator[tuple[str, set[str]]]:
    """Yield pair id and the terms of its dossier that a brief can cite, for every row that has a
    dossier."""
    bodies = cursor.execute(
        "SELECT id, body FROM evidence WHERE id IN (SELECT evidence FROM row_evidence WHERE run"
        " = ?)",
        [run],
    ).fetchall()
    terms = {key: citable_terms(json.loads(body)) for key, body in bodies}
    rows = cursor.execute(
        "SELECT pair_id, list(evidence) FROM row_evidence WHERE run = ? GROUP BY pair_id", [run]
    ).fetchall()
    for pair_id, keys in rows:
        yield pair_id, citable_by(pair_id, [terms[key] for key in keys])


def _match_rows(
    db: Cursor, bundle: Bundle, path: str, options: ImportOptions
) -> tuple[Dataset, list[bool], list[Rejected]]:
    """Return the dataset of a bundle's rows, whether it has each of them as the same pair, and the
    rejections of the others."""
    ids, perts, genes = (
        bundle.parts["prediction"][name].to_pylist() for name in ("pair_id", "pert", "gene")
    )
    target = _choose_dataset(db, bundle.dataset, ids, path, options)
    keep, rejected = known_rows(db, target, ids, range(1, len(ids) + 1), path)
    frame = pairs.frame(db, target.id)
    known = dict(zip(frame["pair_id"], zip(frame["pert"], frame["gene"], strict=True), strict=True))
    for at, (key, *symbols) in enumerate(zip(ids, perts, genes, strict=True)):
        if keep[at] and known[key] != tuple(symbols):
            keep[at] = False
            message = (
                f"{key!r} is {' on '.join(symbols)} in the bundle, {' on '.join(known[key])} in"
                f" dataset {target.name}"
            )
            rejected.append(Rejected(path, at + 1, "id mismatch", printable(message)))
    rejected.sort(key=lambda row: row.line)
    refuse_empty_import(path, sum(keep), rejected, options)
    return target, keep, rejected


def _choose_dataset(
    db: Cursor, bundled: BundledDataset, ids: Sequence[str], path: str, options: ImportOptions
) -> Dataset:
    """Return the chosen dataset, else that of its organism with most of the ids; among several, the
    one with the same pairs."""
    about = (
        f"{bundled.organism}, {bundled.context}; {bundled.rows:,} rows, hash {bundled.sha256[:10]}"
    )
    theirs = printable(f"{bundled.name} ({about})")
    if options.dataset is not None:
        chosen = datasets.find(db, options.dataset)
        if chosen.organism != bundled.organism:
            raise StateError(
                f"{path}: its dataset is {theirs}, but {chosen.name} is {chosen.organism}"
            )
        return chosen
    known = {datasets.find(db, key): n for key, n in pairs.datasets_with(db, ids)}
    fitting = {dataset: n for dataset, n in known.items() if dataset.organism == bundled.organism}
    if not fitting:
        raise InputError(
            f"{path}: no dataset here knows any of its {len(ids):,} rows; expected {theirs}; import"
            " its files first"
        )
    best = [dataset for dataset, n in fitting.items() if n == max(fitting.values())]
    if len(best) > 1:
        best = [
            dataset for dataset in best if bundled_dataset(db, dataset).sha256 == bundled.sha256
        ] or best
    if len(best) > 1:
        names = ", ".join(dataset.name for dataset in best)
        raise StateError(f"{path}: its dataset {theirs} may be {names}; choose one with --dataset")
    return best[0]
