"""Bundles: write a run with all that is known of it to one file, and import such a file."""

from __future__ import annotations

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

from core.actions import machine_names, run_control
from core.actions.lineage import lineage, missing_parents, prompts_of
from core.actions.workspace import Workspace
from core.config import Settings
from core.datasets.bundle_parts import LARGE, SCHEMAS, cast_to_part, contains_text, select_rows
from core.datasets.bundles import (
    ENDED,
    Bundle,
    BundledDataset,
    BundledRun,
    differences,
    make_part,
    pairs_sha256,
    read_bundle,
    sha256_of_open,
    write_bundle_into,
)
from core.engine.run_state import refuse_live, status_of
from core.errors import InputError, StateError
from core.file_io import UnnamedFile, write_by
from core.importing.files import BundleFile
from core.importing.import_target import (
    Imported,
    ImportedRows,
    ImportOptions,
    delete_replaced_run,
    free_name,
    known_rows,
    record_import,
    refuse_empty_import,
)
from core.net.scrubber import SHORTEST
from core.row_schema import field_names
from core.store import Cursor, changes, datasets, findings, pairs, runs
from core.store import bundles as records
from core.store.datasets import Dataset
from core.store.runs import Run
from core.submission.rules.registry import Problem, list_names
from core.texts import printable
from core.transfer.knn_settings import read_knn_settings
from core.types import Rejected, RunRecord

SIMULATED = "simulated"  # an origin that travels: what is simulated says so wherever it is


@dataclass(frozen=True, slots=True)
class BuiltBundle:
    """A bundle's file. file_name: a name to save it under. problems: what the bundle lacks, and what was removed from it."""

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
    """Build the bundle of a run; nothing is written.

    Raises StateError while a worker is on the run, or if an API key stands in it; InputError for a run without rows.
    """
    found = settle_run(workspace, run)
    with workspace.store.read() as db:
        bundle, problems = _build(db, workspace.settings, found)
    file = UnnamedFile()
    write_bundle_into(file, bundle)
    _refuse_unreadable(file, bundle)
    stem = re.sub(r"[^\w.-]+", "_", bundle.run.name).strip("._") or bundle.run.id
    return BuiltBundle(file, sha256_of_open(file), f"{stem[:80]}.bundle.zip", problems)


def write_bundle_file(workspace: Workspace, run: str, out: Path, *, replace: bool = False) -> BuiltBundle:
    """Write the bundle of a run. Raise StateError if another file lies at `out`, unless `replace`."""
    bundle = build_bundle(workspace, run)
    bundle.file.seek(0)
    write_by(lambda file: shutil.copyfileobj(bundle.file, file, 1 << 20), out, replace=replace)
    return bundle


def settle_run(workspace: Workspace, run: str) -> Run:
    """Ingest what the run's journal has and the store has not; return the run as it is then.

    Raises StateError while a worker is on the run.
    """
    with workspace.store.read() as db:
        found = runs.find(db, run)
    folder = workspace.run_folder(found.id)
    if not folder.exists:
        return found
    refuse_live(folder)
    if status_of(folder).state == found.status:
        return found
    workspace.refuse_if_read_only("settle", found.name)
    run_control.settle(workspace, found.id)
    with workspace.store.read() as db:
        return runs.find(db, found.id)


def _build(db: Cursor, settings: Settings, run: Run) -> tuple[Bundle, list[Problem]]:
    """Return the bundle of a run, and its problems. Raises InputError or StateError as `build_bundle` does."""
    parts = {part: _read_part(db, run, part) for part in SCHEMAS}
    if not parts["prediction"].num_rows or run.status not in ENDED:
        raise InputError(f"run {run.name}: {run.status} with {parts['prediction'].num_rows} rows; expected one that has ended")
    names = records.run_names(db)
    values = _record_values(run) | {
        "origin": records.origin_of(db, run.id) or run.origin,
        "parent_names": {parent: names[parent] for parent in run.parents if parent in names},
    }
    bundle = Bundle(BundledRun(**values), _bundled_dataset(db, datasets.find(db, run.dataset)), parts)
    stripped = _remove_machine_names(bundle, settings)
    changed = differences(bundle, stripped)
    if any(_contains(stripped, secret) for secret in settings.secrets if len(secret) >= SHORTEST):
        raise StateError(f"run {run.name}: an API key stands in it; expected a run without, so take it out of its notes first")
    return stripped, list(_list_problems(stripped, changed))


def _read_part(db: Cursor, run: Run, part: str) -> pa.Table:
    if part not in LARGE:
        return cast_to_part(records.read_part(db, run.id, part), part)
    pieces = (cast_to_part(piece, part) for piece in records.read_in_pieces(db, run.id, part))
    return make_part(pieces, part, f"run {run.name}/{part}")


def _record_values(run: RunRecord) -> dict[str, Any]:
    """Return the fields that a run in the store and a run in a bundle share."""
    return {name: getattr(run, name) for name in field_names(RunRecord)}


def _bundled_dataset(db: Cursor, dataset: Dataset) -> BundledDataset:
    frame = pairs.frame(db, dataset.id)
    rows = zip(frame["pair_id"], frame["pert"], frame["gene"], strict=True)
    return BundledDataset(dataset.name, dataset.kind, dataset.organism, dataset.context, len(frame), pairs_sha256(rows))


def _list_problems(bundle: Bundle, changed: Sequence[str]) -> Iterator[Problem]:
    run, rows = bundle.run, bundle.parts["prediction"]
    if run.done + run.failed < run.total:
        missing = run.total - run.done - run.failed
        yield Problem("unfinished", "warning", (), f"{missing:,} of {run.total:,} rows were not predicted: it is {run.status}")
    if run.failed:
        failed = tuple(rows.filter(pc.is_valid(rows["error"]))["pair_id"].to_pylist())
        yield Problem("failed", "warning", failed, f"{run.failed:,} rows failed: {list_names(failed)}")
    if run.parents:
        named = [run.parent_names.get(parent, parent) for parent in run.parents]
        yield Problem("parents", "warning", (), f"made from {', '.join(named)}, which have bundles of their own")
    if changed:
        message = f"paths and addresses of this machine are left out of {', '.join(changed)}"
        yield Problem("places", "warning", (), message)


def _remove_machine_names(bundle: Bundle, settings: Settings) -> Bundle:
    """Return the bundle without names that mean something on this machine alone: folders of files, and addresses of servers."""
    without_places = machine_names.remover(settings)
    parts = dict(bundle.parts)
    for part in ("prediction", "row_call"):
        at = SCHEMAS[part].get_field_index("error")
        column = [text and without_places(text) for text in parts[part]["error"].to_pylist()]
        parts[part] = parts[part].set_column(at, SCHEMAS[part].field(at), pa.array(column, pa.string()))
    run = replace_in(
        bundle.run, spec=machine_names.change_texts(bundle.run.spec, without_places), cause=without_places(bundle.run.cause)
    )
    return Bundle(run, bundle.dataset, parts)


def _contains(bundle: Bundle, text: str) -> bool:
    """Whether a text stands anywhere in a bundle."""
    return any(text in str(getattr(bundle.run, name)) for name in field_names(BundledRun)) or contains_text(bundle.parts, text)


def _refuse_unreadable(file: UnnamedFile, bundle: Bundle) -> None:
    """Raise InputError for a bundle that cannot be read back, which would be a bug."""
    name = f"run {bundle.run.name}"
    back = read_bundle(cast(BufferedIOBase, file), name)
    records.refuse_wrong_ids(back.parts)
    if differ := differences(bundle, back):
        raise InputError(f"{name}: {', '.join(differ)} would not come back as they are")


def import_bundle(workspace: Workspace, file: BundleFile, path: str, options: ImportOptions) -> Imported:
    """Store the run of a bundle; nothing changes if the workspace has it with the same content.

    Raises StateError if it has other content here, unless options.replace; InputError if no dataset knows its rows.
    """
    bundled = file.bundle.run
    with workspace.store.read() as db:
        existing = _find_run(db, bundled.id)
        differ = [] if existing is None else differences(_build(db, workspace.settings, existing)[0], file.bundle)
    if existing is not None and not differ:
        message = f"{path}: its run is here already, as {existing.name}, with the same content; nothing changed"
        return Imported(path, file.kind, existing.name, existing.done, new=False, message=message)
    if existing is not None and not options.replace:
        message = f"its run is here already, as {existing.name}, with other content ({', '.join(differ)})"
        raise StateError(f"{path}: {message}; expected a run that is not here, or --replace")
    if existing is None and workspace.run_folder(bundled.id).exists:
        raise StateError(f"{path}: a journal of its run lies in data/runs/{bundled.id}; expected none, so move it away first")
    with workspace.change("import", path) as (db, detail):
        outcome = _store_run(db, workspace, file, path, options, detail)
        changes.bump(db, "runs", "notes", f"run:{bundled.id}")
        detail |= {"kind": file.kind, "name": outcome.name, "run": bundled.id, "rows": outcome.rows}
        detail["rejected"] = len(outcome.rejected)
    if "replaced" in detail:
        workspace.run_folder(detail["replaced"]).remove()
    return outcome


def _find_run(db: Cursor, run: str) -> Run | None:
    return next((each for each in runs.list_all(db) if each.id == run), None)


def _store_run(
    db: Cursor, workspace: Workspace, file: BundleFile, path: str, options: ImportOptions, detail: dict[str, Any]
) -> Imported:
    bundled = file.bundle.run
    _refuse_unusable(db, workspace, bundled, path)
    target, keep, rejected = _match_rows(db, file.bundle, path, options)
    existing = _find_run(db, bundled.id)
    if existing is not None:
        detail |= delete_replaced_run(db, workspace.settings, existing)
    naming = replace_in(options, replace=options.replace and existing is None)  # a file replaces one run, not two
    name, other = free_name(db, target.id, bundled.name, path, file.sha256, naming)
    if other is not None and other.id in bundled.parents:
        raise StateError(f"{path}: run {name!r} is a parent of the run that would replace it; choose another --name")
    if other is not None:
        detail |= delete_replaced_run(db, workspace.settings, other)
    parts = file.bundle.parts if all(keep) else select_rows(file.bundle.parts, pa.array(keep))
    values = _record_values(bundled) | {"name": name, "dataset": target.id, "total": bundled.total - len(rejected)}
    values["origin"] = SIMULATED if bundled.origin == SIMULATED else "imported"
    runs.add(db, Run(**values))
    records.add(db, bundled.id, parts)
    findings.update(db, bundled.id)
    records.add_origin(db, bundled.id, bundled.origin, bundled.parent_names)
    runs.update_counts(db, bundled.id)
    record_import(db, workspace.settings, file, path, ImportedRows(sum(keep), rejected, target.id, bundled.id))
    missing = missing_parents(db, [runs.find(db, bundled.id)])
    message = f"made from {', '.join(missing.values())}, not in this workspace" if missing else ""
    return Imported(path, file.kind, name, sum(keep), tuple(rejected), message=message)


def _refuse_unusable(db: Cursor, workspace: Workspace, bundled: BundledRun, path: str) -> None:
    """Raise InputError for a record that pages could not show: an unreadable specification, or a run made from itself."""
    run = Run(**_record_values(bundled), dataset="")
    try:
        if bundled.method == "knn":
            read_knn_settings(bundled.spec).describe()
        prompts_of(workspace, db, [run])
        int(bundled.spec.get("options", {}).get("shots", 0))
    except (InputError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: the specification of its {bundled.method} cannot be read ({error!r})") from error
    parents = [parent for key in bundled.parents if (parent := _find_run(db, key)) is not None]
    ancestors = [ancestor for parent in parents for ancestor in lineage(db, parent)]
    if bundled.id in bundled.parents or any(bundled.id in (ancestor.id, *ancestor.parents) for ancestor in ancestors):
        raise InputError(f"{path}: its run {bundled.id} is among its own parents; expected runs that were there before it")


def _match_rows(db: Cursor, bundle: Bundle, path: str, options: ImportOptions) -> tuple[Dataset, list[bool], list[Rejected]]:
    """Return the dataset of a bundle's rows, whether it has each of them as the same pair, and the rejections of the others."""
    ids, perts, genes = (bundle.parts["prediction"][name].to_pylist() for name in ("pair_id", "pert", "gene"))
    target = _choose_dataset(db, bundle.dataset, ids, path, options)
    keep, rejected = known_rows(db, target, ids, range(1, len(ids) + 1), path)
    frame = pairs.frame(db, target.id)
    known = dict(zip(frame["pair_id"], zip(frame["pert"], frame["gene"], strict=True), strict=True))
    for at, (key, *symbols) in enumerate(zip(ids, perts, genes, strict=True)):
        if keep[at] and known[key] != tuple(symbols):
            keep[at] = False
            message = f"{key!r} is {' on '.join(symbols)} in the bundle, {' on '.join(known[key])} in dataset {target.name}"
            rejected.append(Rejected(path, at + 1, "id mismatch", printable(message)))
    rejected.sort(key=lambda row: row.line)
    refuse_empty_import(path, sum(keep), rejected, options)
    return target, keep, rejected


def _choose_dataset(db: Cursor, bundled: BundledDataset, ids: Sequence[str], path: str, options: ImportOptions) -> Dataset:
    """Return the chosen dataset, else that of its kind with most of the ids; among several, the one with the same pairs."""
    about = f"{bundled.kind}, {bundled.organism}, {bundled.context}; {bundled.rows:,} rows, hash {bundled.sha256[:10]}"
    theirs = printable(f"{bundled.name} ({about})")
    if options.dataset is not None:
        chosen = datasets.find(db, options.dataset)
        if not _fits(chosen, bundled):
            raise StateError(f"{path}: its dataset is {theirs}, but {chosen.name} is {chosen.kind}, {chosen.organism}")
        return chosen
    known = [(datasets.find(db, key), n) for key, n in pairs.datasets_with(db, ids)]
    of_kind = [(dataset, n) for dataset, n in known if _fits(dataset, bundled)]
    if not of_kind:
        raise InputError(f"{path}: no dataset here knows any of its {len(ids):,} rows; expected {theirs}; import its files first")
    best = [dataset for dataset, n in of_kind if n == of_kind[0][1]]
    same = [dataset for dataset in best if _bundled_dataset(db, dataset).sha256 == bundled.sha256] if len(best) > 1 else []
    if len(same or best) > 1:
        names = ", ".join(dataset.name for dataset in same or best)
        raise StateError(f"{path}: its dataset {theirs} could be {names}; say which with --dataset")
    return (same or best)[0]


def _fits(dataset: Dataset, bundled: BundledDataset) -> bool:
    """Whether a dataset may be the one of a bundle: of its kind and organism. A run on one file of a line fits it."""
    is_file_of_line = bundled.kind != "ternary" and dataset.headline == "macro"
    return (dataset.kind == bundled.kind or is_file_of_line) and dataset.organism == bundled.organism
