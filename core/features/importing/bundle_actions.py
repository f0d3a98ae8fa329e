"""Bundles: write a run with all that is known of it to one file, and import such a file."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as replace_in
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from core.base import environment
from core.base.config import Settings
from core.base.errors import InputError, StateError
from core.base.file_io import UnnamedFile, write_by
from core.base.hashes import sha256_of_open
from core.base.records import to_json
from core.base.row_schema import TABLES
from core.base.texts import list_names, printable
from core.base.types import Flag
from core.features.importing import bundle_parts as records
from core.features.importing.bundle_parts import (
    LARGE,
    SCHEMAS,
    write_part,
)
from core.features.importing.bundles import (
    ENDED,
    Bundle,
    BundledDataset,
    bundled_run,
    write_bundle_into,
)
from core.features.importing.files import BundleFile
from core.features.importing.import_target import (
    Imported,
    ImportedRows,
    ImportOptions,
    record_import,
)
from core.features.importing.imported_runs import (
    dataset_of_rows,
    delete_replaced_run,
    find_run,
    free_name,
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
    names, origin = records.run_names(db), records.origin_of(db, run.id) or run.origin
    clean = environment.remover(settings)
    bundled = bundled_run(replace_in(run, origin=origin), names, clean)
    parts, changed = {}, (bundled.spec, bundled.cause) != (dict(run.spec), run.cause)
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
    if settings.secrets:
        batches = (batch for part in parts.values() for batch in part.to_batches())
        buffers = (
            buffer for batch in batches for each in batch.columns for buffer in each.buffers()
        )
        texts = (buffer.to_pybytes() for buffer in buffers if buffer is not None)
        said = json.dumps(to_json(bundled), ensure_ascii=False).encode()
        environment.refuse_secrets(settings, f"run {run.name}", chain([said], texts))
    return bundle, list(_list_problems(bundle, changed=changed))


def _change_errors(table: pa.Table, clean: environment.Remover) -> pa.Table:
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
            "look",
            (),
            f"{missing:,} of {run.total:,} rows were not predicted: it is {run.status}",
        )
    if run.failed:
        failed = tuple(rows["pair_id"].filter(pc.is_valid(rows["error"])).to_pylist())
        yield Problem("failed", "look", failed, f"{run.failed:,} rows failed: {list_names(failed)}")
    if run.parents:
        named = [parent.name or parent.id for parent in run.parents]
        yield Problem(
            "parents",
            "look",
            (),
            f"made from {', '.join(named)}, which have bundles of their own",
        )
    if changed:
        yield Problem("places", "look", (), "paths and addresses of this machine are left out")


def import_bundle(
    workspace: Workspace, file: BundleFile, path: str, options: ImportOptions
) -> Imported:
    """Store the run of a bundle; a run that is here already stays as it is, unless options.replace.

    Raise InputError if no dataset has its rows.
    """
    bundled = file.bundle.run
    with workspace.store.read() as db:
        existing = find_run(db, bundled.id)
    if existing is not None and not options.replace:
        message = (
            f"{path}: its run is here already, as {existing.name}; nothing changed, --replace takes"
            " the file's"
        )
        return Imported(path, file.kind, existing.name, existing.done, new=False, message=message)
    if existing is None and workspace.run_folder(bundled.id).exists:
        raise StateError(
            f"{path}: data/runs/{bundled.id} has a journal of its run; move it away first"
        )
    with workspace.change("import", path) as (db, detail):
        run = Run(**bundled.record(), dataset="")
        try:
            if bundled.method == "knn":
                read_knn_settings(run.spec).describe()
            prompts_of(workspace, db, [run])
            int(run.spec.get("options", {}).get("shots", 0))
        except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"{path}: the specification of its {bundled.method} cannot be read ({error!r})"
            ) from error
        if bundled.id in run.parents:
            raise InputError(f"{path}: its run {bundled.id} is its own parent; expected older runs")
        parents = [each for key in run.parents if (each := find_run(db, key)) is not None]
        if any(bundled.id in (each.id, *each.parents) for each in runs.lineage(db, parents)):
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
    target = _match_rows(db, file.bundle, path, options)
    existing = find_run(db, bundled.id)
    if existing is not None:
        replaced |= delete_replaced_run(db, settings, existing)
    # a file replaces one run, not two
    naming = replace_in(options, replace=options.replace and existing is None)
    name, other = free_name(db, target.id, bundled.name, path, file.sha256, naming)
    if other is not None and other.id in bundled.record()["parents"]:
        raise StateError(
            f"{path}: run {name!r} is a parent of the run that would replace it; choose another"
            " --name"
        )
    if other is not None:
        replaced |= delete_replaced_run(db, settings, other)
    parts = file.bundle.parts
    records.refuse_wrong_ids(parts)
    origin = SIMULATED if bundled.origin == SIMULATED else "imported"
    runs.add(db, Run(**bundled.record() | {"name": name, "dataset": target.id, "origin": origin}))
    records.add(db, bundled.id, parts)
    parent_names = {parent.id: parent.name for parent in bundled.parents if parent.name}
    records.add_origin(db, bundled.id, bundled.origin, parent_names)
    _update_findings(db, bundled.id)
    runs.update_counts(db, bundled.id)
    n = bundled.done + bundled.failed
    record_import(db, settings, file, path, ImportedRows(n, (), target.id, bundled.id))
    return Imported(path, file.kind, name, n), replaced


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


def _match_rows(db: Cursor, bundle: Bundle, path: str, options: ImportOptions) -> Dataset:
    """Return the dataset of a bundle's rows.

    Raise StateError for a dataset of another organism, InputError for rows that it lacks or has as
    other pairs: a run comes whole, or not at all.
    """
    rows = bundle.parts["prediction"].select(["pair_id", "pert", "gene"]).to_pydict()
    target = dataset_of_rows(db, bundle.parts["prediction"]["pair_id"], path, options)
    about = bundle.dataset
    theirs = printable(f"{about.name} ({about.organism}, {about.context}; {about.rows:,} rows)")
    if target.organism != about.organism:
        raise StateError(f"{path}: its dataset is {theirs}, but {target.name} is {target.organism}")
    frame = pairs.frame(db, target.id)
    known = {*zip(frame["pair_id"], frame["pert"], frame["gene"], strict=True)}
    asked = zip(rows["pair_id"], rows["pert"], rows["gene"], strict=True)
    missing = [row for row in asked if row not in known]
    if missing:
        key, pert, gene = missing[0]
        raise InputError(
            f"{path}: {len(missing):,} of its {len(rows['pair_id']):,} rows, such as"
            f" {printable(f'{key!r}, {pert} on {gene}')}, are not in dataset {target.name};"
            f" expected those of {theirs}; import its files first"
        )
    return target
