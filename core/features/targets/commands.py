"""Commands behind `targets`: train, evaluate, table, delete, and what the process of a page
runs."""

from __future__ import annotations

from dataclasses import replace as replace_in
from pathlib import Path
from typing import Annotated, Any

import typer

from core.base.errors import InputError, NotFound
from core.base.fields.record import make
from core.cli.base import Replace, say, say_progress, show_deleted, show_result
from core.cli.settings import takes
from core.features.targets import actions as target_ranking
from core.features.targets.evaluate import (
    RankingEvaluationRequest,
    RankingTableRequest,
    TrainingOptions,
    TrainingRequest,
    missing_packages,
    read_candidates,
    request_of,
)
from core.features.targets.metrics import ceilings_of
from core.features.targets.models.base import REQUIREMENTS, ranking_models
from core.features.targets.splits import Split, read_split
from core.features.targets.tables import TargetTable, table_of

app = typer.Typer()


@app.command()
@takes(TrainingOptions)
def train(
    context: typer.Context,
    chosen: dict[str, Any],
    file: Annotated[Path | None, typer.Argument(help="Cells as .h5ad.")] = None,
    replace: Replace = False,
) -> None:
    """Train ranking models on the cells of a screen, and evaluate them on its test conditions."""
    folder = target_ranking.train(
        context.obj, training_of(make(TrainingOptions, chosen), file), say, replace=replace
    )
    show_result(table_of(folder, folder.evaluations()[-1]))


@app.command()
@takes(RankingEvaluationRequest)
def evaluate(
    context: typer.Context,
    chosen: dict[str, Any],
) -> None:
    """Evaluate trained models on one split, mask and unit, and save the table.

    With --split and --ceilings and without trained models, print only the ceilings of the split.
    """
    asked = make(RankingEvaluationRequest, chosen)
    choice, has_none = asked.choice, not target_ranking.list_all(context.obj)
    published = None if choice.split_file is None else read_split(choice.split_file)
    if published is not None and choice.ranking is None and choice.ceilings and has_none:
        show_result(_ceilings(published, asked.evaluation.candidates))
        return
    folder = target_ranking.find(context.obj, choice.ranking)
    if published is not None:
        own = folder.split()
        if (own.train, own.validation, own.test) != (
            published.train,
            published.validation,
            published.test,
        ):
            raise InputError(
                f"target ranking {folder.key}: was trained on another split, {own.name}, whose"
                " training may include test conditions of this one. Train on this one: perturbdesk"
                " targets train --split FILE"
            )
    saved = target_ranking.evaluate_saved(
        context.obj,
        folder.key,
        asked.evaluation,
        lambda share, what: say_progress(f"{100 * share:3.0f}% {what}"),
    )
    show_result(table_of(folder, saved))


@app.command()
@takes(RankingTableRequest)
def table(
    context: typer.Context,
    chosen: dict[str, Any],
) -> None:
    """Print the table of an evaluation beside the published one, with its differences, and ceilings
    of a split."""
    asked = make(RankingTableRequest, chosen)
    choice = asked.choice
    if choice.split_file is not None:
        show_result(_ceilings(read_split(choice.split_file), asked.candidates))
        return
    if choice.ranking is None and not target_ranking.list_all(context.obj):
        if choice.ceilings:
            raise InputError(
                "targets table --ceilings: no training to take the split from, expected --split"
                " FILE"
            )
        show_result(TargetTable())
        return
    folder = target_ranking.find(context.obj, choice.ranking)
    evaluations = folder.evaluations()
    if not evaluations:
        raise NotFound(
            f"target ranking {folder.key}: has no evaluation; try: perturbdesk targets evaluate"
        )
    show_result(table_of(folder, evaluations[-1]))


@app.command()
def delete(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(help="The target ranking."),
    ],
) -> None:
    """Delete a target ranking with its models and evaluations."""
    target_ranking.delete(context.obj, name)
    show_deleted(name)


@app.command(hidden=True)
def work(context: typer.Context, name: str) -> None:
    """Train the missing models of a target ranking. The page starts this in a separate process."""
    target_ranking.work_on(context.obj, name, say)


def training_of(asked: TrainingOptions, file: Path | None) -> TrainingRequest:
    """Return the request of a training. file: of cells, None for the simulator. Raise
    InputError."""
    if (file is None) != asked.simulate:
        raise InputError("targets train: expected either a file of cells or --simulate")
    path = "" if file is None else str(file.expanduser().absolute())
    return request_of(replace_in(asked, models=asked.models or _installed_models()), path)


def _installed_models() -> tuple[str, ...]:
    """Return the models whose packages are installed, and say which are left out."""
    missing = {name: missing_packages(model) for name, model in ranking_models().items()}
    for name, packages in missing.items():
        if packages:
            say(
                f"{name} is left out: {', '.join(packages)} is not installed (pip install -r"
                f" {REQUIREMENTS})"
            )
    return tuple(name for name, packages in missing.items() if not packages)


def _ceilings(split: Split, candidates: Path | None) -> TargetTable:
    pools = None if candidates is None else read_candidates(candidates, split.test)
    return TargetTable(ceilings_of(split, pools))
