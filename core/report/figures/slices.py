"""The score of each slice of a run's rows, the costliest first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from core.plots import drawing, ladder, slice_scores
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring import slices
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.sentences import TWO_WAY, scored_text
from core.stats.slices import Slice
from core.texts import estimate_text, number_text

SHOWN = 15  # slices in the figure; the table has them all
GENE_ROWS = "gene's rows"  # the kind of slice by how often the gene was measured
KINDS = {GENE_ROWS: "how often the gene was measured"}  # on screen, where the kind's name does not do
# A slice of one cluster has the other axis alone.
INTERVALS = {"perturbation": "allowing for shared genes", "target gene": "allowing for shared perturbations"}


def of_run(rows: RunRows, score: RunScore, counts: RunScore, by: str, metric: str) -> CaptionedFigure:
    """Return one kind of slice, in its own order where it has one, else the costliest first.

    score: the run's; counts: that of row counts alone; by: one of `slices.SLICES`; metric: mean, DE, DIR. The table has `value`
    too, the slice's name as `by` gives it.
    """
    table = _in_order(pd.DataFrame([_line(by, part, metric) for part in slices.score_slices(rows, by)]), by)
    overall, count_only = (getattr(each.whole, metric.lower()).value for each in (score, counts))
    shown = "bold: what costs most" if by in slices.ORDERS else f"the {min(SHOWN, len(table))} that cost most"
    caption = (
        f"{rows.run.name} · {len(table):,} slices of {int(table['n'].sum()):,} rows, {shown} · {metric} inside each slice, "
        f"{scored_text(rows.scored)}, interval {INTERVALS.get(by, TWO_WAY)}"
    )
    chart = slice_scores.figure(table.head(SHOWN), overall, count_only, drawing.METRICS[metric])
    return CaptionedFigure(f"{metric} by {KINDS.get(by, by)}", rows.run.name, _sentence(table, metric), caption, chart, table)


def _in_order(table: pd.DataFrame, by: str) -> pd.DataFrame:
    """Return the slices in the order of their kind; the costliest first where it has none."""
    order = slices.ORDERS.get(by)
    if order is None:
        return table.sort_values("cost", ascending=False, na_position="last", kind="stable", ignore_index=True)
    return table.sort_values("value", key=lambda names: names.map(order.index), kind="stable", ignore_index=True)


def _line(by: str, part: Slice, metric: str) -> dict[str, object]:
    scored = getattr(part, metric.lower())
    return {
        "slice": _describe_times_measured(part.name) if by == GENE_ROWS else part.name,
        "value": part.name,
        "n": part.n,
        "n_labelled": part.n_labelled,
        **scored.score.shown.columns,
        "clusters": scored.score.shown.clusters,
        "cost": scored.cost,
    }


def _describe_times_measured(times: str) -> str:
    return "measured once" if times == "1" else f"measured {times} times"


def _sentence(table: pd.DataFrame, metric: str) -> str:
    costs = table["cost"].to_numpy(dtype=np.float64)
    if np.isnan(costs).all():
        return f"No slice has both classes, so none has a {metric}."
    most = table.iloc[int(np.nanargmax(costs))]
    score = estimate_text(most["estimate"], most["low"], most["high"])
    return (
        f"“{most['slice']}” costs the {metric} most, {number_text(most['cost'], '+.4f')}: {score} "
        f"on its {most['n_labelled']:,} labelled rows."
    )


def of_runs(runs: Sequence[RunRows], by: str, metric: str) -> CaptionedFigure:
    """Return one kind of slice for two or more runs, each scored on its own rows of a slice; the slices in order of size."""
    lines = [
        {**_line(by, part, metric), "run": each.run.name, "chosen": each is runs[0]}
        for each in runs
        for part in slices.score_slices(each, by)
    ]
    scored = pd.DataFrame(lines).dropna(subset="estimate").rename(columns={"estimate": "score"})
    title, subject = f"{metric} by {KINDS.get(by, by)}", f"{len(runs)} runs"
    if scored.empty:
        return CaptionedFigure(title, subject, f"No slice has both classes, so none has a {metric}.")
    sizes = scored.groupby("slice")["n"].sum().sort_values(ascending=False)
    largest = scored[scored["slice"].isin(sizes.index[:SHOWN])].assign(kind="here")
    table = largest.sort_values("slice", key=lambda names: -names.map(sizes), kind="stable", ignore_index=True)
    worst = table.to_dict("records")[int(table["score"].to_numpy().argmin())]
    finding = f"The lowest {metric} is that of {worst['run']} in the slice “{worst['slice']}”"
    score = estimate_text(worst["score"], worst["low"], worst["high"])
    caption = (
        f"{subject} · {metric} inside each slice of a run’s own rows · the {min(SHOWN, len(sizes))} largest slices · "
        f"interval {INTERVALS.get(by, TWO_WAY)}"
    )
    chart = ladder.grouped_figure(table.assign(group=table["slice"]), metric)
    sentence = f"{finding}: {score} on {worst['n_labelled']:,} labelled rows."
    return CaptionedFigure(title, subject, sentence, caption, chart, table, finding)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    runs = material.labelled_runs
    if len(runs) > 1:
        found = [of_runs([material.rows[run.id] for run in runs], GENE_ROWS, "mean")]
    else:
        found = [
            of_run(material.rows[run.id], material.score(run.id), material.count_score(run.id), GENE_ROWS, "mean") for run in runs
        ]
    return [*found, *material.say_unlabelled("Slices")]


FIGURE = FigureKind("slices", "Where the score comes from", "The score by how often genes were measured, by cost.", 50, _make)
