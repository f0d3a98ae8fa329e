"""Commands behind `cells`: a dataset of a screen (describe, labels), runs from predicted expression (the others)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from core.actions import cell_predictions
from core.actions.cell_predictions import PredictionOptions
from core.actions.label_request import LabelRequest
from core.cells import summaries
from core.cells.design import DesignSettings
from core.cells.groups import GroupSettings
from core.cells.labels import Thresholds
from core.cells.sampling import SamplingSettings
from core.cells.screen import LabelSettings
from core.cli.base import say
from core.cli.files import show_imports
from core.cli.results import show_result
from core.cli.settings import takes
from core.errors import InputError
from core.fields.record import make, options_of

app = typer.Typer()

File = Annotated[Path, typer.Argument(metavar="FILE", help="Cells with counts in X: AnnData (.h5ad).")]
_LABELLING = (GroupSettings, DesignSettings, Thresholds, SamplingSettings)
_OF_LABELS = [option.name for record in _LABELLING for option in options_of(record)]


@app.command()
@takes(LabelSettings, without=(*_OF_LABELS, "most_remaining", "within", "in_memory", "columns"))
def describe(
    file: File,
    chosen: dict[str, Any],
) -> None:
    """Show the content of a file and the columns that would be chosen, before anything is computed."""
    from core.actions.cells import describe_file

    show_result(summaries.describe(describe_file(file, make(LabelSettings, chosen))))


@app.command()
@takes(LabelRequest, required=("name",))
def labels(
    context: typer.Context,
    file: File,
    chosen: dict[str, Any],
) -> None:
    """Make a dataset of a screen: compare each perturbation with control cells, label pairs, and sample them."""
    from core.actions.cells import label_cells

    asked = make(LabelRequest, chosen)
    made = label_cells(context.obj, file, asked, say)
    if made.message:
        say(made.message)
    show_result(summaries.summarize_labels(made.dataset, made.record, new=made.new))


@app.command()
@takes(PredictionOptions)
def predictions(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(help="Predicted cells (.h5ad), or a table of changes (.csv, .tsv, .parquet).")],
    chosen: dict[str, Any],
) -> None:
    """Make a run from predicted expression: every pair of the dataset gets P(DE) and P(up | DE), or is flagged."""
    options = make(PredictionOptions, chosen)
    if "" in options.columns.values():
        raise InputError("--column: got a role without a column, expected ROLE=NAME, such as log2_fc=logFC")
    show_imports([cell_predictions.import_predictions(context.obj, file, options)])
