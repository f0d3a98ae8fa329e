"""Commands behind `cells`: a dataset of a screen (describe, labels), runs from predicted expression
(the others)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core.base.errors import InputError
from core.base.fields.record import make, options_of
from core.cli.base import say, show_result
from core.cli.settings import takes
from core.features.cells import label_record
from core.features.cells import predictions as cell_predictions
from core.features.cells.actions import LabelRequest
from core.features.cells.comparisons import DesignSettings
from core.features.cells.groups import GroupSettings
from core.features.cells.labels import SamplingSettings, Thresholds
from core.features.cells.predictions import PredictionOptions
from core.features.cells.screen import LabelSettings
from core.features.importing.commands import show_imports

app = typer.Typer()

File = Annotated[
    Path, typer.Argument(metavar="FILE", help="Cells with counts in X: AnnData (.h5ad).")
]
_LABELLING = (GroupSettings, DesignSettings, Thresholds, SamplingSettings)
_OF_LABELS = [option.name for record in _LABELLING for option in options_of(record)]


@app.command()
@takes(LabelSettings, without=(*_OF_LABELS, "most_remaining", "within", "columns"))
def describe(
    file: File,
    chosen: dict[str, Any],
) -> None:
    """Show the content of a file and the columns that would be chosen, before anything is
    computed."""
    from core.features.cells.actions import describe_file

    show_result(label_record.describe(describe_file(file, make(LabelSettings, chosen))))


@app.command()
@takes(LabelRequest, required=("name",))
def labels(
    context: typer.Context,
    file: File,
    chosen: dict[str, Any],
) -> None:
    """Make a dataset of a screen: compare each perturbation with control cells, label pairs, and
    sample them."""
    from core.features.cells.actions import label_cells

    asked = make(LabelRequest, chosen)
    made = label_cells(context.obj, file, asked, say)
    if made.message:
        say(made.message)
    show_result(label_record.summarize_labels(made.dataset, made.record, new=made.new))


@app.command()
@takes(PredictionOptions)
def predictions(
    context: typer.Context,
    file: Annotated[
        Path,
        typer.Argument(
            help="Predicted cells (.h5ad), or a table of changes (.csv, .tsv, .parquet)."
        ),
    ],
    chosen: dict[str, Any],
) -> None:
    """Make a run from predicted expression: every pair of the dataset gets P(DE) and P(up | DE), or
    is flagged."""
    options = make(PredictionOptions, chosen)
    if "" in options.columns.values():
        raise InputError(
            "--column: got a role without a column, expected ROLE=NAME, such as log2_fc=logFC"
        )
    show_imports([cell_predictions.import_predictions(context.obj, file, options)])
