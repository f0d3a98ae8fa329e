"""Runs made from predicted expression: an expression model's predictions of a dataset's pairs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final

from core.base.errors import InputError, NotFound
from core.base.fields.record import values_with_effect
from core.base.fields.setting import setting
from core.base.hashes import sha256_of
from core.base.records import from_json, to_json
from core.base.types import PREDICTED_EXPRESSION, PREDICTED_EXPRESSION_RANKS, Pair
from core.features.cells.cell_formats import hash_cells, is_cell_file
from core.features.cells.conditions import READING_VERSION
from core.features.cells.confounders import DIFFERS
from core.features.cells.predicted_expression import CellOptions, read_predicted_cells
from core.features.cells.predicted_table import (
    PredictedChanges,
    PredictedRows,
    WantedPairs,
    build_rows,
    read_predicted_table,
)
from core.features.importing.allowed_paths import allowed_folders, inside, unseen
from core.features.importing.files import saved_upload
from core.features.importing.import_target import (
    Imported,
    ImportedRows,
    ImportOptions,
    describe_existing,
    record_import,
    refuse_empty_import,
)
from core.features.importing.imported_runs import delete_replaced_run, free_name
from core.features.importing.other_formats import refuse_other_format
from core.features.importing.roles import TableOptions
from core.runs import audited_rows
from core.runs.actions import keep_results
from core.runs.audited_rows import audit_rows
from core.runs.component_loader import default_dataset
from core.runs.dependencies import load_pairs
from core.runs.spec import dataset_sha256
from core.runs.uploads_apart import read_apart
from core.runs.workspace import Workspace
from core.store import changes
from core.store import imports as stored_imports
from core.store.datasets import Dataset

KIND: Final = "predicted_expression"
CELL_FILES: Final = (".h5ad",)
# Of how a file was read
_SAID: Final = (
    "values",
    "genes of both files",
    "negative values read as 0",
    "perturbations",
    DIFFERS,
)


@dataclass(frozen=True, slots=True)
class PredictionOptions:
    """How to make a run from predicted expression.

    dataset: its name or id, by default the workspace's. name: of the run, by default the file's.
    cells: of AnnData. columns: of a table, role → column; see
    `core.features.importing.roles`. rank_only: percentiles instead of probabilities. strict,
    replace: as in `ImportOptions`.
    """

    dataset: Annotated[
        str | None,
        setting(
            "The dataset whose pairs are predicted.", title="Dataset whose pairs are predicted"
        ),
    ] = None
    name: Annotated[
        str | None,
        setting(
            "Name of the run; by default that of the file.",
            title="Name of the run",
            missing="the file's",
            changes_result=False,
        ),
    ] = None
    cells: CellOptions = field(default_factory=CellOptions)
    columns: Annotated[
        Mapping[str, str],
        setting(
            "Table: which column is pert, gene, log2_fc, p, …",
            option="--column",
            metavar="ROLE=NAME",
            where="command",
        ),
    ] = field(default_factory=dict)
    rank_only: Annotated[
        bool,
        setting(
            "Ranks instead of probabilities.", title="Ranks instead of probabilities", key="ranks"
        ),
    ] = False
    strict: Annotated[
        bool,
        setting(
            "Refuse the file if one of its rows is bad.",
            title="Refuse the file if one of its rows is bad",
            changes_result=False,
        ),
    ] = False
    replace: Annotated[
        bool,
        setting("Replace an existing run of that name.", where="command", changes_result=False),
    ] = False

    def as_import_options(self) -> ImportOptions:
        """Return the options that all imports share."""
        return ImportOptions(self.name, self.dataset, self.strict, self.replace)


@dataclass(frozen=True, slots=True)
class Source:
    """The inputs of a run's numbers: hashes of files and rows, and the given options."""

    kind: str
    sha256: str
    file_sha256: str
    real_sha256: str | None
    rows_sha256: str


def import_predictions(workspace: Workspace, path: Path, options: PredictionOptions) -> Imported:
    """Make a run from a file of predicted expression; repeating it with the same file and options
    changes nothing.

    Every row of the dataset gets one; see `core.features.cells.predicted_table`. Raise InputError,
    MissingPackage, NotFound, and StateError for a name that is taken.
    """
    workspace.refuse_if_read_only("cells predictions", str(path))
    for each in filter(None, (path, options.cells.real)):
        if not is_cell_file(each):
            refuse_other_format(each, each.name)
    dataset = default_dataset(workspace, options.dataset)
    pairs = tuple(load_pairs(workspace.store, dataset.id).values())
    source = identify(path, dataset, pairs, options)
    with workspace.store.read() as db:
        earlier = stored_imports.by_content(db, source.sha256)
        if earlier is not None:
            return describe_existing(db, earlier, str(path))
    found = _read(path, pairs, options)
    refuse_empty_import(
        str(path), int(found.covered.sum()), list(found.rejected), options.as_import_options()
    )
    return _write(
        workspace,
        path,
        dataset,
        (source, found, build_rows(pairs, found, rank_only=options.rank_only)),
        options,
    )


def import_uploaded(
    workspace: Workspace,
    file: tuple[str, bytes],
    real: tuple[str, bytes] | None,
    options: PredictionOptions,
) -> Imported:
    """Import as `import_predictions` does, from (name, bytes) of the predictions and of the real
    cells; on a shared server in a separate process, whose errors are raised (see
    `core.runs.uploads_apart`).
    """
    workspace.refuse_if_read_only("cells predictions", file[0])
    if workspace.settings.is_shared:
        files = [file, *(() if real is None else (real,))]
        wanted = replace(options, cells=replace(options.cells, real=None))
        return from_json(
            Imported,
            read_apart(workspace, "predictions", files, asdict(wanted)),
            "outcome of an import",
        )
    with ExitStack() as stack:
        paths = [
            stack.enter_context(saved_upload(content, name))
            for name, content in filter(None, (file, real))
        ]
        cells = replace(options.cells, real=None if real is None else paths[1])
        try:
            return import_predictions(workspace, paths[0], replace(options, cells=cells))
        except InputError as error:  # the user knows the file's name, but not our folder
            text = str(error)
            for path in paths:
                text = text.replace(f"{path.parent}/", "")
            raise type(error)(text) from error


def import_typed(
    workspace: Workspace,
    text: str,
    real: str | None,
    options: PredictionOptions,
    server_address: str | None,
) -> Imported:
    """Make a run from predicted expression by a path that a visitor typed; real: the path of real
    control cells.

    The error for a refused table does not reveal its content. Raise what `check_typed_path` and
    `import_predictions` raise.
    """
    workspace.refuse_if_read_only("cells predictions", text)
    roots = allowed_folders(workspace.settings, server_address)
    path = inside(text, roots)
    cells = replace(options.cells, real=None if real is None else inside(real, roots))
    try:
        return import_predictions(workspace, path, replace(options, cells=cells))
    except NotFound:
        raise
    except InputError as error:
        if is_cell_file(path):
            raise
        raise type(error)(
            unseen(
                path, "no table of predicted changes of this dataset's pairs", "cells predictions"
            )
        ) from None


def predictions_task(
    workspace: Workspace, files: Sequence[tuple[str, bytes]], options: Mapping[str, Any]
) -> Any:
    """Make a run of an upload in the process that reads it (`core.runs.upload_process`)."""
    wanted = from_json(PredictionOptions, options, "options of an import")
    return to_json(
        import_uploaded(workspace, files[0], files[1] if len(files) > 1 else None, wanted)
    )


def _read(path: Path, pairs: tuple[Pair, ...], options: PredictionOptions) -> PredictedChanges:
    """Return a file's predictions of the pairs.

    Raise InputError for options of the other kind of file, and if it has none of the pairs.
    """
    wanted = WantedPairs(pairs)
    if is_cell_file(path):
        if options.columns:
            raise InputError(
                f"{path.name}: --column names columns of a table, got AnnData; it takes"
                " --perturbation and --control"
            )
        found = read_predicted_cells(path, wanted, options.cells)
    else:
        if replace(options.cells, where={}) != CellOptions():
            raise InputError(
                f"{path.name}: --real, --perturbation, --control and --values are about AnnData,"
                " got a table"
            )
        found = read_predicted_table(
            path, wanted, TableOptions(options.columns, options.cells.where)
        )
    if not found.covered.any() and not found.rejected:
        first = f"{pairs[0].pert} and {pairs[0].gene}" if pairs else "none"
        raise InputError(
            f"{path.name}: none of the dataset's {len(pairs):,} pairs is in it"
            f" ({found.other_pairs:,} rows or perturbations of others; its perturbations are"
            f" {', '.join(map(repr, found.values))} …). Expected symbols as in the dataset, whose"
            f" first pair is {first}"
        )
    return found


def identify(
    path: Path, dataset: Dataset, pairs: tuple[Pair, ...], options: PredictionOptions
) -> Source:
    """Return the identity of a run: files, rows, labels, and how they are read."""
    file_sha256 = hash_cells(path)
    real_sha256 = None if options.cells.real is None else hash_cells(options.cells.real)
    rows = dataset_sha256(pairs)
    chosen = {
        name: value for name, value in values_with_effect(options.cells).items() if name != "real"
    }
    read = [READING_VERSION, chosen, sorted(options.columns.items())]
    identity = json.dumps(
        [KIND, file_sha256, real_sha256, dataset.name, rows, read, options.rank_only],
        sort_keys=True,
    )
    return Source(KIND, sha256_of(identity), file_sha256, real_sha256, rows)


def _write(
    workspace: Workspace,
    path: Path,
    dataset: Dataset,
    made: tuple[Source, PredictedChanges, PredictedRows],
    options: PredictionOptions,
) -> Imported:
    source, found, rows = made
    target = options.as_import_options()
    batch, real = audit_rows(rows.rows), options.cells.real
    spec = {
        "method": KIND,
        "file": path.name,
        "file_sha256": source.file_sha256,
        "real_file": None if real is None else real.name,
        "real_sha256": source.real_sha256,
        "rows_sha256": source.rows_sha256,
        "read_as": dict(found.read_as),
        "notes": list(found.notes),
        "evidence": found.measure,
        **rows.record(),
    }
    with workspace.change("cells predictions", str(path)) as (db, detail):
        name, existing = free_name(db, dataset.id, path.stem, str(path), source.sha256, target)
        if existing is not None:
            detail |= delete_replaced_run(db, workspace.settings, existing)
        run = audited_rows.write_run(
            db,
            batch,
            id=source.sha256[:10],
            dataset=dataset.id,
            name=name,
            method=PREDICTED_EXPRESSION_RANKS if rows.why else PREDICTED_EXPRESSION,
            origin="imported",
            spec=spec,
            note=describe(found, rows),
        )
        record_import(
            db,
            workspace.settings,
            source,
            str(path),
            ImportedRows(run.done, found.rejected, dataset.id, run.id),
        )
        changes.bump(db, "datasets")
        detail |= {"kind": KIND, "name": name, "rows": run.done, "rejected": len(found.rejected)}
    if "replaced" in detail:
        workspace.run_folder(detail["replaced"]).remove()
    keep_results(workspace)
    return Imported(str(path), KIND, name, run.done, found.rejected, message=describe(found, rows))


def describe(found: PredictedChanges, rows: PredictedRows) -> str:
    """Return the sources of a run of predicted expression, in a sentence or two."""
    measure = {"z": "|z|", "log2_fc": "|log2 fold change|"}.get(found.measure, found.measure)
    text = f"Predicted expression: rows are ranked by {measure}, without and with its sign."
    said = [
        *(f"{name}: {value}" for name, value in found.read_as.items() if name in _SAID),
        *found.notes,
    ]
    text += f" {'; '.join(said)[0].upper()}{'; '.join(said)[1:]}." if said else ""
    if rows.scale == "rank_only":
        text += f" Its numbers are ranks ({rows.why})."
    if rows.uncovered:
        text += f" {rows.uncovered:,} pairs are not in the file; they get flagged base rates."
    return text
