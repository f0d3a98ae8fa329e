"""Bundles: write a run with all that is known of it to one file, and import such a file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_in
from io import BufferedIOBase
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from core.base import machine_names
from core.base.config import Settings
from core.base.errors import InputError, StateError
from core.base.file_io import UnnamedFile, write_by
from core.base.hashes import sha256_of_open
from core.base.net.scrubber import SHORTEST
from core.base.row_schema import TABLES, field_names
from core.base.texts import list_names, printable
from core.base.types import Flag, Rejected, RunRecord
from core.features.importing import bundle_parts as records
from core.features.importing.bundle_parts import (
    LARGE,
    SCHEMAS,
    contains_text,
    select_rows,
    write_part,
)
from core.features.importing.bundles import (
    ENDED,
    Bundle,
    BundledDataset,
    BundledRun,
    differences,
    read_bundle,
    write_bundle_into,
)
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
from core.features.importing.lineage import missing_parents, prompts_of
from core.features.importing.problems import Problem
from core.methods.brief_checks import check_brief, citable_by, citable_terms
from core.runs import run_control
from core.runs.workspace import Workspace
from core.store import Cursor, changes, datasets, pairs, runs
from core.store.datasets import Dataset
from core.store.runs import Run
from core.store.traces import split_events
from core.transfer.knn_settings import read_knn_settings


@dataclass(frozen=True, slots=True)
class BuiltBundle:
    """A bundle's file. file_name: the suggested name. problems: missing and removed parts."""

    file: UnnamedFile
    sha256: str
    file_name: str
    problems: list[Problem]

    @property
    def content(self) -> bytes:
        """The file's bytes."""
        self.file.seek(0)
        return self.file.read()


def build_bundle(workspace: Workspace, run: str) -> BuiltBundle:
    """Build the bundle of a run in memory.

    Raise StateError while a worker is on the run, or if it contains an API key; InputError for a
    run without rows.
    """
    found = run_control.settle_run(workspace, run)
    with workspace.store.read() as db:
        bundle, problems = _build(db, workspace.settings, found)
    file = UnnamedFile()
    write_bundle_into(file, bundle)
    _refuse_unreadable(file, bundle)
    stem = re.sub(r"[^\w.-]+", "_", bundle.run.name).strip("._") or bundle.run.id
    return BuiltBundle(file, sha256_of_open(file), f"{stem[:80]}.bundle.zip", problems)


def write_bundle_file(
    workspace: Workspace, run: str, out: Path, *, replace: bool = False
) -> BuiltBundle:
    """Write the bundle of a run. Raise StateError if another file lies at `out`, unless
    `replace`."""
    bundle = build_bundle(workspace, run)
    bundle.file.seek(0)
    write_by(lambda file: shutil.copyfileobj(bundle.file, file, 1 << 20), out, replace=replace)
    return bundle


def _build(db: Cursor, settings: Settings, run: Run) -> tuple[Bundle, list[Problem]]:
    """Return the bundle of a run without names that mean something on this machine alone, and its
    problems.

    Such names are folders of files, and addresses of servers. Raise InputError or StateError as
    `build_bundle` does.
    """
    if not run.done + run.failed or run.status not in ENDED:
        raise InputError(
            f"run {run.name}: {run.status} with {run.done + run.failed} rows; expected one that has"
            " ended"
        )
    names = records.run_names(db)
    values = record_values(run) | {
        "origin": records.origin_of(db, run.id) or run.origin,
        "parent_names": {parent: names[parent] for parent in run.parents if parent in names},
    }
    whole, clean = BundledRun(**values), machine_names.remover(settings)
    bundled = replace_in(
        whole, spec=machine_names.change_texts(whole.spec, clean), cause=clean(whole.cause)
    )
    parts, changed = {}, whole.content != bundled.content
    for part in SCHEMAS:
        pieces = (
            records.read_in_pieces(db, run.id, part)
            if part in LARGE
            else [records.read_part(db, run.id, part)]
        )
        if "error" in TABLES[part].names:
            cleaned = [_change_errors(piece, clean) for piece in pieces]
            changed, pieces = changed or cleaned != pieces, cleaned
        parts[part] = write_part(pieces, part, f"run {run.name}/{part}")
    bundle = Bundle(bundled, bundled_dataset(db, datasets.find(db, run.dataset)), parts)
    if any(
        (
            any(secret in str(getattr(bundle.run, name)) for name in field_names(BundledRun))
            or contains_text(bundle.parts, secret)
        )
        for secret in settings.secrets
        if len(secret) >= SHORTEST
    ):
        raise StateError(
            f"run {run.name}: contains an API key; expected a run without one, so remove it from"
            " the notes first"
        )
    return bundle, list(_list_problems(bundle, changed=changed))


def _change_errors(table: pa.Table, clean: machine_names.Remover) -> pa.Table:
    """Return a table with its column error changed."""
    texts = [text and clean(text) for text in table["error"].to_pylist()]
    return table.set_column(
        table.schema.get_field_index("error"), "error", pa.array(texts, pa.string())
    )


def _list_problems(bundle: Bundle, *, changed: bool) -> Iterator[Problem]:
    run, rows = bundle.run, bundle.parts["prediction"]
    if run.done + run.failed < run.total:
        missing = run.total - run.done - run.failed
        yield Problem(
            "unfinished",
            "warning",
            (),
            f"{missing:,} of {run.total:,} rows were not predicted: it is {run.status}",
        )
    if run.failed:
        failed = tuple(rows["pair_id"].filter(pc.is_valid(rows["error"])).to_pylist())
        yield Problem(
            "failed", "warning", failed, f"{run.failed:,} rows failed: {list_names(failed)}"
        )
    if run.parents:
        named = [run.parent_names.get(parent, parent) for parent in run.parents]
        yield Problem(
            "parents",
            "warning",
            (),
            f"made from {', '.join(named)}, which have bundles of their own",
        )
    if changed:
        yield Problem("places", "warning", (), "paths and addresses of this machine are left out")


def _refuse_unreadable(file: UnnamedFile, bundle: Bundle) -> None:
    """Raise InputError for a bundle that cannot be read back, which would be a bug."""
    name = f"run {bundle.run.name}"
    back = read_bundle(cast(BufferedIOBase, file), name)
    records.refuse_wrong_ids(back.parts["evidence"].to_batches(), back.parts["call"].to_batches())
    if differ := differences(bundle, back):
        raise InputError(f"{name}: {', '.join(differ)} would not be restored unchanged")


def import_bundle(
    workspace: Workspace, file: BundleFile, path: str, options: ImportOptions
) -> Imported:
    """Store the run of a bundle; nothing changes if the workspace has it with the same content.

    Raise StateError if it has other content here, unless options.replace; InputError if no dataset
    knows its rows.
    """
    bundled = file.bundle.run
    with workspace.store.read() as db:
        existing = find_run(db, bundled.id)
        differ = (
            []
            if existing is None
            else differences(_build(db, workspace.settings, existing)[0], file.bundle)
        )
    if existing is not None and not differ:
        message = (
            f"{path}: its run exists already as {existing.name}, with the same content; nothing"
            " changed"
        )
        return Imported(path, file.kind, existing.name, existing.done, new=False, message=message)
    if existing is not None and not options.replace:
        message = (
            f"its run exists already as {existing.name}, with other content ({', '.join(differ)})"
        )
        raise StateError(f"{path}: {message}; expected a new run, or --replace")
    if existing is None and workspace.run_folder(bundled.id).exists:
        raise StateError(
            f"{path}: data/runs/{bundled.id} has a journal of its run; move it away first"
        )
    with workspace.change("import", path) as (db, detail):
        run = Run(**record_values(bundled), dataset="")
        try:
            if bundled.method == "knn":
                read_knn_settings(bundled.spec).describe()
            prompts_of(workspace, db, [run])
            int(bundled.spec.get("options", {}).get("shots", 0))
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{path}: the specification of its {bundled.method} cannot be read ({error!r})"
            ) from error
        parents = [parent for key in bundled.parents if (parent := find_run(db, key)) is not None]
        if bundled.id in bundled.parents or any(
            bundled.id in (each.id, *each.parents) for each in runs.lineage(db, parents)
        ):
            raise InputError(
                f"{path}: its run {bundled.id} is among its own parents; expected older runs"
            )
        outcome, replaced = store_run(db, workspace.settings, file, path, options)
        if missing := missing_parents(db, [runs.find(db, bundled.id)]):
            outcome = replace_in(
                outcome, message=f"made from {', '.join(missing.values())}, not in this workspace"
            )
        detail |= replaced
        changes.bump(db, "runs", "notes", f"run:{bundled.id}")
        detail |= {"kind": file.kind, "name": outcome.name, "run": bundled.id, "rows": outcome.rows}
        detail["rejected"] = len(outcome.rejected)
    if "replaced" in detail:
        workspace.run_folder(detail["replaced"]).remove()
    return outcome


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
