"""Commands with further scores of a run: genes and perturbations, three classes, distance; and the sensitivity of a verdict."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from core.actions.training_distance import label_at_thresholds, list_distances, score_by_distance
from core.cli import names
from core.cli.base import Json, show_scores
from core.cli.names import RunName
from core.errors import InputError
from core.fields.option import split_names
from core.scoring import class_scores, distance_scores, group_scores
from core.scoring.compare_runs import compare_runs
from core.scoring.other_scores import METRICS
from core.scoring.run_scores import RunRows, load_scored_rows
from core.scoring.sensitivity import labels_of_pairs, sensitivity_sentence, sensitivity_shape, sensitivity_table, vary
from core.texts import estimate_text, table_lines

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
    """Score each gene, or perturbation, of a run, raw and partially pooled towards the mean."""
    rows = _rows(context, run)
    found = group_scores.score_groups(rows, axis.value, METRICS[metric.value])
    lines = group_scores.group_sentences(found)
    table = [
        f"{row['name']:16} {row['positives']:>5,} + {row['negatives']:>5,} rows  raw {row['raw']:.3f}  pooled "
        f"{estimate_text(row['shrunken'], row['low'], row['high'])}"
        for row in found.table.to_dict("records")
    ]
    if len(table) > 2 * _SHOWN:
        table = [*table[:_SHOWN], f"… {len(table) - 2 * _SHOWN:,} more, see --json", *table[-_SHOWN:]]
    show_scores(rows.marks, group_scores.group_shape(found), as_json, "\n".join([*lines, *table]))


@app.command()
def score_classes(context: typer.Context, run: RunName, as_json: Json = False) -> None:
    """Score a run as three classes: one-vs-rest AUROCs, log-loss, Brier, decision curve, hits per hundred validated."""
    rows = _rows(context, run)
    found = class_scores.score_classes(rows)
    show_scores(rows.marks, class_scores.class_shape(found), as_json, "\n".join(class_scores.class_sentences(found)))


@app.command()
def score_distance(
    context: typer.Context,
    run: RunName,
    by: Annotated[
        str,
        typer.Option(
            metavar="SPACE|network",
            help="A gene space, or the network of the knowledge packs.",
            autocompletion=names.complete_space_or_network,
        ),
    ],
    axis: Axis = _Axis.gene,
    as_json: Json = False,
) -> None:
    """Score a run by how far its rows' genes, or perturbations, are from those of the training rows."""
    rows = _rows(context, run)
    known = list_distances(context.obj, rows.run.dataset)
    if by not in known:
        there = ", ".join(known) or "no distance available: build a gene space or import a network first"
        raise InputError(f"score-distance --by {by}: expected one of {there}")
    found = score_by_distance(context.obj, rows, by, axis.value)
    shape, words = distance_scores.distance_shape(found), distance_scores.distance_sentences(found)
    show_scores(rows.marks, shape, as_json, "\n".join(words))


@app.command()
def sensitivity(
    context: typer.Context,
    a: RunName,
    b: Annotated[str, typer.Argument(metavar="B", help="The run that is compared with it.", autocompletion=names.complete_run)],
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="DATASET,…",
            help="Other labels of the same pairs, such as those at another threshold.",
            autocompletion=names.complete_datasets,
        ),
    ] = None,
    fdr: Annotated[
        str | None, typer.Option(metavar="FDR,…", help="Labels of a screen with effects below these FDRs, such as 0.01,0.1.")
    ] = None,
    log2_fc: Annotated[
        str | None, typer.Option(metavar="CHANGE,…", help="Labels of a screen with effects from these |log2 fold changes|.")
    ] = None,
    margin: Annotated[float | None, typer.Option(help="The smallest difference of the mean that matters.")] = None,
    as_json: Json = False,
) -> None:
    """Say whether the verdict on run B against run A depends on sampling, labels or their thresholds."""
    if margin is not None and margin <= 0:
        raise InputError(f"sensitivity --margin {margin}: expected a difference above 0")
    compared = compare_runs(_rows(context, a), _rows(context, b))
    index = compared.pair.a.index
    with context.obj.store.read() as db:
        named = [] if labels is None else split_names(labels)
        others = {f"labels of {name}": labels_of_pairs(db, name, index) for name in named}
    asked = _numbers("fdr", fdr), _numbers("log2-fc", log2_fc)
    others |= label_at_thresholds(context.obj, compared.pair.a.run.dataset, index, *asked)
    found = vary(compared, others, margin)
    marks = compared.pair.a.marks
    lines = [*table_lines(sensitivity_table(found)), sensitivity_sentence(found)]
    show_scores(marks, sensitivity_shape(found), as_json, "\n".join(lines))


def _numbers(option: str, text: str | None) -> list[float]:
    """Return the numbers of an option, separated by commas."""
    try:
        return [] if text is None else [float(part) for part in split_names(text)]
    except ValueError as error:
        raise InputError(f"sensitivity --{option} {text}: expected numbers, separated by commas") from error
