"""Commands that score a run in more ways: each gene or perturbation, three classes, by distance to the training rows."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from core.actions.training_distance import list_distances, score_by_distance
from core.cli.base import Json, RunName, show
from core.errors import InputError
from core.scoring import class_scores, distance_scores, group_scores
from core.scoring.other_scores import METRICS
from core.scoring.run_scores import RunRows, load_scored_rows
from core.texts import estimate_text

app = typer.Typer()

_SHOWN = 20  # groups at each end of the list; --json has all


class _Axis(StrEnum):
    gene = "gene"
    pert = "pert"


class _Metric(StrEnum):
    DE = "DE"
    DIR = "DIR"


Axis = Annotated[_Axis, typer.Option(help="Target genes or perturbations.")]


def _rows(context: typer.Context, run: str) -> RunRows:
    with context.obj.store.read() as db:
        return load_scored_rows(db, run)


@app.command()
def score_groups(
    context: typer.Context,
    run: RunName,
    axis: Axis = _Axis.gene,
    metric: Annotated[_Metric, typer.Option(help="The question that is scored.")] = _Metric.DE,
    as_json: Json = False,
) -> None:
    """Score each gene, or perturbation, of a run: raw, and drawn to the mean as far as chance would scatter it."""
    found = group_scores.score_groups(_rows(context, run), axis.value, METRICS[metric.value])
    lines = group_scores.group_sentences(found)
    table = [
        f"{row.name:16} {row.positives:>5,} + {row.negatives:>5,} rows  raw {row.raw:.3f}  pooled "
        f"{estimate_text(row.shrunken, row.low, row.high)}"
        for row in found.table.itertuples(index=False)
    ]
    if len(table) > 2 * _SHOWN:
        table = [*table[:_SHOWN], f"… {len(table) - 2 * _SHOWN:,} more, see --json", *table[-_SHOWN:]]
    show(group_scores.group_shape(found), as_json, "\n".join([*lines, *table]))


@app.command()
def score_classes(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """Score a run as three classes: one-vs-rest AUROCs, log-loss, Brier, decision curve, hits per hundred validated."""
    found = class_scores.score_classes(_rows(context, run))
    show(class_scores.class_shape(found), as_json, "\n".join(class_scores.class_sentences(found)))


@app.command()
def score_distance(
    context: typer.Context,
    run: RunName,
    by: Annotated[str, typer.Option(metavar="SPACE|network", help="A gene space, or the network of the knowledge packs.")],
    axis: Axis = _Axis.gene,
    as_json: Json = False,
) -> None:
    """Score a run by how far its rows' genes, or perturbations, are from those of the training rows."""
    rows = _rows(context, run)
    known = list_distances(context.obj, rows.run.dataset)
    if by not in known:
        there = ", ".join(known) or "nothing here: build a gene space or import a network first"
        raise InputError(f"score-distance --by {by}: expected one of {there}")
    found = score_by_distance(context.obj, rows, by, axis.value)
    show(distance_scores.distance_shape(found), as_json, "\n".join(distance_scores.distance_sentences(found)))
