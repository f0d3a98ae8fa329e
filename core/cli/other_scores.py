"""Commands that score a run in more ways: genes and perturbations, three classes, distance; and what a verdict depends on."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from core.actions.training_distance import list_distances, score_by_distance
from core.cli.base import Json, RunName, show
from core.errors import InputError
from core.fields.option import split_names
from core.scoring import class_scores, distance_scores, group_scores
from core.scoring.compare_runs import compare_runs
from core.scoring.other_scores import METRICS
from core.scoring.run_scores import RunRows, load_scored_rows
from core.scoring.sensitivity import labels_of_pairs, sensitivity_sentences, sensitivity_shape, vary
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
        f"{row['name']:16} {row['positives']:>5,} + {row['negatives']:>5,} rows  raw {row['raw']:.3f}  pooled "
        f"{estimate_text(row['shrunken'], row['low'], row['high'])}"
        for row in found.table.to_dict("records")
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


@app.command()
def sensitivity(
    context: typer.Context,
    a: RunName,
    b: Annotated[str, typer.Argument(metavar="B", help="The run that is judged against it.")],
    labels: Annotated[
        str | None, typer.Option(metavar="DATASET,…", help="Other labels of the same pairs, such as those at another threshold.")
    ] = None,
    margin: Annotated[float | None, typer.Option(help="The smallest difference of the mean worth having.")] = None,
    as_json: Json = False,
) -> None:
    """Say whether the verdict on run B against run A depends on sampling and labels: the natural base rate, other labels."""
    if margin is not None and margin <= 0:
        raise InputError(f"sensitivity --margin {margin}: expected a difference above 0")
    compared = compare_runs(_rows(context, a), _rows(context, b))
    index = compared.pair.a.index
    with context.obj.store.read() as db:
        others = {name: labels_of_pairs(db, name, index) for name in ([] if labels is None else split_names(labels))}
    found = vary(compared, others, margin)
    show(sensitivity_shape(found), as_json, "\n".join(sensitivity_sentences(found)))
