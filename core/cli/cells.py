"""Commands behind `cells`: a dataset of a screen (describe, labels), runs from predicted expression (the others)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from core.actions import cell_predictions
from core.actions.cell_predictions import PredictionOptions
from core.actions.label_request import LabelRequest
from core.cells.confounders import describe_even
from core.cells.design import DesignSettings
from core.cells.groups import GroupSettings
from core.cells.labels import Thresholds
from core.cells.sampling import SamplingSettings
from core.cells.screen import Description, LabelSettings
from core.cells.words import description_lines, label_lines
from core.cli.base import Json, say, show
from core.cli.files import show_imports
from core.cli.settings import takes
from core.errors import InputError
from core.fields.record import make, options_of

app = typer.Typer()

File = Annotated[Path, typer.Argument(metavar="FILE", help="Cells with counts in X: AnnData (.h5ad or .zarr).")]
_LABELLING = (GroupSettings, DesignSettings, Thresholds, SamplingSettings)
_OF_LABELS = [option.name for record in _LABELLING for option in options_of(record)]
_NOT_DESCRIBED = {
    **dict.fromkeys((*_OF_LABELS, "most_remaining"), "it describes a file before anything is labelled"),
    "within": "nothing is compared while a file is described",
    "in_memory": "only what is said of the cells is read",
}
_SHOWN_OF_RECORD = (
    *("columns", "perturbations", "genes", "cells", "control_cells", "failed_guides", "note"),
    *("within", "strata", "test", "replicates", "calibration"),
)


@app.command()
@takes(LabelSettings, without=_NOT_DESCRIBED)
def describe(
    file: File,
    chosen: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Show the content of a file and the columns that would be chosen, before anything is computed."""
    from core.actions.cells import describe_file

    found = describe_file(file, make(LabelSettings, chosen))
    show(_description_record(found), as_json, "\n".join(description_lines(found)))


@app.command()
@takes(LabelRequest)
def labels(
    context: typer.Context,
    file: File,
    chosen: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Make a dataset of a screen: compare each perturbation with control cells, label pairs, and sample them."""
    from core.actions.cells import label_cells

    asked = make(LabelRequest, chosen)
    made = label_cells(context.obj, file, asked, say)
    if made.message:
        say(made.message)
    show(_labels_record(made.dataset, made.record, made.new), as_json, "\n".join(label_lines(made.dataset, made.record)))


@app.command()
@takes(PredictionOptions)
def predictions(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Predicted cells (.h5ad, .zarr), or a table of changes (.csv, .tsv, .parquet).")],
    chosen: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Make a run from predicted expression: every pair of the dataset gets P(DE) and P(up | DE), or is flagged."""
    options = make(PredictionOptions, chosen)
    if "" in options.columns.values():
        raise InputError("--column: got a role without a column, expected ROLE=NAME, such as log2_fc=logFC")
    show_imports([cell_predictions.import_predictions(context.obj, file, options)], as_json)


def _labels_record(dataset: str, record: Mapping[str, Any], new: bool) -> dict[str, Any]:
    return {"dataset": dataset, "pairs": record["rows"], **record["labels"], "left_out": record["left_out"], "new": new} | {
        name: record.get(name) for name in _SHOWN_OF_RECORD
    }


def _description_record(found: Description) -> dict[str, Any]:
    conditions, groups = found.conditions, found.groups
    return {
        "cells": len(groups.of_cell),
        "genes": len(found.gene_names.names),
        "columns": asdict(conditions.columns),
        "obs_columns": list(found.obs_columns),
        "control_cells": groups.n_control,
        "perturbations": dict(zip(groups.targets, groups.n_cells.tolist(), strict=True)),
        "values": conditions.names.record(),
        "gene_names": found.gene_names.column,
        "confounders": [each.line() for each in conditions.confounders],
        "even": describe_even(conditions.even),
        "multiple": list(groups.multiple),
        "unknown": list(groups.unknown),
        "unassigned_cells": groups.unassigned,
        "batches": found.batches,
        "in_batches_without_controls": list(groups.without_controls),
        "confounded": list(groups.confounded),
    }
