"""Commands behind `cells`: a dataset of a screen (describe, labels), runs from predicted expression (the others)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from core.actions import cell_evaluation, cell_predictions
from core.actions.cell_evaluation import EvaluationOptions
from core.actions.cell_predictions import PredictionOptions
from core.actions.label_request import LabelRequest
from core.cells.cell_eval import CellEvaluation
from core.cells.challenge_cells import write_challenge_cells
from core.cells.challenge_score import SHORT
from core.cells.conditions import READING
from core.cells.confounders import describe_even
from core.cells.design import DesignSettings
from core.cells.groups import GroupSettings
from core.cells.labels import Thresholds
from core.cells.sampling import SamplingSettings
from core.cells.screen import Description, LabelSettings
from core.cells.words import description_lines, label_lines
from core.cli import names
from core.cli.base import Json, say, show
from core.cli.files import show_imports
from core.cli.names import RunName
from core.cli.settings import takes
from core.errors import InputError
from core.fields.record import make, options_of
from core.file_io import read_file
from core.records import to_json
from core.texts import number_text

app = typer.Typer()

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="Cells with counts in X: AnnData (.h5ad or .zarr), or a matrix of 10x Genomics.")
]
_MOST_BYTES = 1 << 26  # of a list of genes
_LABELLING = (GroupSettings, DesignSettings, Thresholds, SamplingSettings)
_OF_LABELS = [option.name for record in _LABELLING for option in options_of(record)]
_NOT_DESCRIBED = {
    **dict.fromkeys((*_OF_LABELS, "most_remaining"), "it describes a file before anything is labelled"),
    "within": "nothing is compared while a file is described",
    "in_memory": "only what is said of the cells is read",
}
_NOT_IN_ARCHIVE = {
    "real": "it rewrites one file and compares it with none",
    "run": "it evaluates nothing that could be stored",
    "dataset": "it evaluates nothing that could be stored",
    "within": "it compares no cells with others",
    "sample": "every cell of the file is written",
}
_SHOWN_OF_RECORD = (
    *("columns", "perturbations", "genes", "cells", "control_cells", "failed_guides", "note"),
    *("within", "strata", "test", "replicates", "calibration"),
)
_NO_FORM = "cell-eval reads two files of cells for minutes, in a process that has its packages; a page shows what it kept"


@app.command()
@takes(LabelSettings, without=_NOT_DESCRIBED)
def describe(
    file: File,
    chosen: dict[str, Any],
    predictions: Annotated[
        bool, typer.Option("--predictions", help="Predicted cells, with or without controls, or a table.")
    ] = False,
    real: Annotated[Path | None, typer.Option(help="With --predictions: AnnData with real control cells.")] = None,
    as_json: Json = False,
) -> None:
    """Show the content of a file and the columns that would be chosen, before anything is computed."""
    if predictions:
        given = {name: value for name, value in chosen.items() if name in READING}
        lines = cell_predictions.describe_file(file, make(PredictionOptions, {**given, "real": real}))
        show({"file": file.name, "lines": lines}, as_json, "\n".join(lines))
        return
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


@app.command()
@takes(EvaluationOptions, no_form=_NO_FORM)
def evaluate(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="PRED", help="Predicted cells (.h5ad, .zarr).")],
    chosen: dict[str, Any],
    as_json: Json = False,
) -> None:
    """Compare predicted cells with real ones by cell-eval, the field's own suite, and print its table."""
    options = make(EvaluationOptions, chosen)
    found, kept = cell_evaluation.evaluate_predictions(context.obj, file, options)
    show({**found.as_json(), "run": None if kept is None else kept.name}, as_json, _evaluation_text(found))


@app.command()
def score(
    context: typer.Context,
    run: RunName,
    baseline: Annotated[
        str,
        typer.Option(
            metavar="RUN", help="The baseline's run, such as the mean over perturbations.", autocompletion=names.complete_run
        ),
    ],
    as_json: Json = False,
) -> None:
    """Score a run against a baseline run as the Virtual Cell Challenge does, from cell-eval's tables of both."""
    found = cell_evaluation.score_evaluation(context.obj, run, baseline)
    lines = [f"{'':4} {'metric':28} {'run':>10} {'baseline':>10} {'score':>10}"]
    for each in found.metrics:
        numbers = " ".join(f"{number_text(value):>10}" for value in (each.run, each.baseline, each.score))
        lines.append(f"{SHORT.get(each.metric, ''):4} {each.metric:28} {numbers}")
    mean = f"mean of the challenge's three {number_text(found.challenge)}, of all {len(found.metrics)} {number_text(found.mean)}"
    show({"run": run, "baseline": baseline, **to_json(found)}, as_json, "\n".join([*lines, mean]))


@app.command()
@takes(EvaluationOptions, without=_NOT_IN_ARCHIVE, no_form=_NO_FORM)
def vcc(
    file: Annotated[Path, typer.Argument(metavar="PRED", help="Predicted cells (.h5ad) with controls.")],
    out: Annotated[Path, typer.Option(help="The archive to write (.vcc).")],
    chosen: dict[str, Any],
    genes: Annotated[Path | None, typer.Option(help="The genes in order, one per line; by default the file's.")] = None,
    as_json: Json = False,
) -> None:
    """Write predicted cells as cell-eval's archive for the Virtual Cell Challenge (.vcc), which `cells predictions` reads too."""
    wanted = () if genes is None else tuple(filter(None, map(str.strip, read_file(genes, _MOST_BYTES).decode().splitlines())))
    n_cells, n_genes = write_challenge_cells(file, out, make(EvaluationOptions, chosen).cells, wanted)
    show({"file": str(out), "cells": n_cells, "genes": n_genes}, as_json, f"{out}: {n_cells:,} cells × {n_genes:,} genes")


def _labels_record(dataset: str, record: Mapping[str, Any], new: bool) -> dict[str, Any]:
    return {"dataset": dataset, "pairs": record["rows"], **record["labels"], "left_out": record["left_out"], "new": new} | {
        name: record.get(name) for name in _SHOWN_OF_RECORD
    }


def _description_record(found: Description) -> dict[str, Any]:
    return {
        "cells": found.n_cells,
        "genes": found.n_genes,
        "columns": asdict(found.columns),
        "obs_columns": list(found.obs_columns),
        "control_cells": found.n_control,
        "perturbations": dict(found.cells),
        "values": found.conditions.names.record(),
        "gene_names": found.gene_names.column,
        "confounders": [each.line() for each in found.conditions.confounders],
        "even": describe_even(found.conditions.even),
        "multiple": list(found.multiple),
        "unknown": list(found.unknown),
        "unassigned_cells": found.unassigned,
        "batches": found.batches,
        "in_batches_without_controls": list(found.without_controls),
        "confounded": list(found.confounded),
    }


def _evaluation_text(found: CellEvaluation) -> str:
    """Return the table as text: each metric's mean and standard deviation over perturbations."""
    lines = [
        f"cell-eval {found.version}, profile {found.profile}: {found.n_perturbations:,} perturbations, {found.n_genes:,} genes, "
        f"{found.n_predicted:,} predicted and {found.n_real:,} real cells",
        *([f"compared inside each {', '.join(found.within)}, pooled by real cells"] if found.within else []),
        *found.left_out,
        *found.problems,
    ]
    lines += [
        f"{one.name:28} {number_text(one.mean):>10}  sd {number_text(one.sd):>8}  {one.n:,} perturbations"
        for one in found.metrics
    ]
    return "\n".join(lines)
