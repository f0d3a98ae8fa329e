"""Bundles: write a run with all that is known of it to one file, and import such a file."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import replace as replace_in
from io import BufferedIOBase
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from core.base import environment
from core.base.config import Settings
from core.base.errors import InputError, StateError
from core.base.file_io import UnnamedFile, write_by
from core.base.hashes import sha256_of_open
from core.base.net.scrubber import SHORTEST
from core.base.row_schema import TABLES, field_names
from core.base.texts import list_names
from core.features.importing import bundle_tables as records
from core.features.importing.bundle_parts import LARGE, SCHEMAS, contains_text, write_part
from core.features.importing.bundled_run import bundled_dataset, find_run, record_values, store_run
from core.features.importing.bundles import (
    ENDED,
    Bundle,
    BundledRun,
    differences,
    read_bundle,
    write_bundle_into,
)
from core.features.importing.files import BundleFile
from core.features.importing.import_target import Imported, ImportOptions
from core.features.importing.lineage import missing_parents, prompts_of
from core.features.importing.problems import Problem
from core.runs import run_control
from core.runs.workspace import Workspace
from core.store import Cursor, changes, datasets, runs
from core.store.runs import Run
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
    whole, clean = BundledRun(**values), environment.remover(settings)
    bundled = replace_in(
        whole, spec=environment.change_texts(whole.spec, clean), cause=clean(whole.cause)
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
