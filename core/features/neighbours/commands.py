"""Commands that transfer labels: knn, neighbours."""

from __future__ import annotations

from dataclasses import replace as replaced
from typing import Annotated, Any

import typer

from core.base.fields.record import make
from core.cli.base import Replace, say_if_named_otherwise, show_result, working
from core.cli.names import DatasetName
from core.cli.settings import takes
from core.features.neighbours import knn_numbers
from core.features.neighbours.result import KnnResult, NeighboursResult
from core.runs import component_loader, launch
from core.runs.component_loader import KnnRequest, WorkspaceComponents, default_dataset
from core.scoring.run_scores import MACRO_HEADLINE
from core.transfer.knn_settings import KnnSettings, refuse_cut_without_effect, with_power_of_effects
from core.transfer.protocols import Kind

app = typer.Typer()


@app.command()
@takes(KnnRequest, required=("spaces",))
def knn(context: typer.Context, chosen: dict[str, Any], replace: Replace = False) -> None:
    """Predict from the labels of similar genes: coverage, and the score beside that of the same
    space with permuted vectors."""
    asked = make(KnnRequest, with_power_of_effects(chosen))
    refuse_cut_without_effect(asked.settings)
    target, settings, name = default_dataset(context.obj, asked.dataset), asked.settings, asked.name
    loader = WorkspaceComponents(context.obj, target)
    with working("finding the similar genes of every row") as step:
        predicted = loader.predict_knn(settings, None)
        numbers = knn_numbers.numbers_of(
            context.obj,
            predicted,
            settings.protocol,
            asked.permutations,
            lambda share: step(f"permuting vectors: {share:.0%}"),
        )
    remarks = tuple(_pooled_lines(target.name, settings)) if target.headline == "macro" else ()
    result = replaced(
        KnnResult.of(numbers, settings.describe(), predicted.seconds, target.marks), remarks=remarks
    )
    if name:
        request = component_loader.knn_request(target, settings, name)
        saved = launch.start(context.obj, request, replace=replace, components=loader)
        say_if_named_otherwise(saved, name)
        result = replaced(result, run=saved.name)
    show_result(result)


def _pooled_lines(dataset: str, settings: KnnSettings) -> list[str]:
    """Return how to read the pooled scores of a kNN on a dataset that is judged by averages over
    genes."""
    lines = [
        f"Over all pairs of rows; {dataset} is judged by the {MACRO_HEADLINE}, which `score` gives"
        " of a saved run."
    ]
    if settings.similarity.weighting.axis == "gene" and settings.protocol.kind == "test":
        lines.append(
            "By target gene all rows of a gene have one prior, so there it is 0.5; --axis pert"
            " compares perturbations."
        )
    return lines


@app.command()
@takes(KnnSettings, without=("protocol", "strength"), required=("spaces",))
def neighbours(
    context: typer.Context,
    pair: Annotated[str, typer.Argument(metavar="PAIR", help="A row's id: perturbation_gene.")],
    chosen: dict[str, Any],
    protocol: Annotated[
        Kind | None, typer.Option(help="By default folds for a labelled row, else test.")
    ] = None,
    without: Annotated[list[str] | None, typer.Option(help="Labelled rows to leave out.")] = None,
    dataset: DatasetName = None,
) -> None:
    """List the labelled rows behind a row's priors, heaviest first."""
    target = default_dataset(context.obj, dataset)
    found = component_loader.neighbours_of(
        context.obj,
        target,
        pair,
        make(KnnSettings, {**chosen, "protocol": protocol or "folds"}),
        protocol_chosen=protocol is not None,
        without=without or (),
    )
    show_result(
        NeighboursResult.of(
            pair, found.settings.describe(), found.why, found.pair_ids, found.labels
        )
    )
