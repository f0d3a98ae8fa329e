"""The command `baselines`: what simple methods score on a labelled dataset."""

from __future__ import annotations

from typing import Annotated

import typer

from core.cli import names
from core.cli.base import show_result
from core.features.perturbqa.baselines.attention_settings import read_grid
from core.features.perturbqa.compute import BaselineRequest, compute_baselines

app = typer.Typer()


@app.command()
def baselines(
    context: typer.Context,
    dataset: Annotated[
        str,
        typer.Option(
            metavar="D", help="The dataset's name.", autocompletion=names.complete_dataset
        ),
    ],
    split: Annotated[str, typer.Option(help="The split whose labelled rows are scored.")] = "test",
    train_on: Annotated[
        str | None,
        typer.Option(
            metavar="D2",
            help="Predict from the training rows of another dataset, matched by symbol.",
            autocompletion=names.complete_dataset,
        ),
    ] = None,
    attention: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help=(
                "Also train graph attention networks: 'full' for the published twelve (hours"
                " without a GPU), or sizes such as "
                "1x64,2x128 (layers x width)."
            ),
        ),
    ] = None,
) -> None:
    """Show what simple methods score on a split: mean AUROC over genes first, then over all
    rows."""
    grid = None if attention is None else read_grid(attention)
    show_result(compute_baselines(context.obj, BaselineRequest(dataset, split, train_on, grid)))
