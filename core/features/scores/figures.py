"""Figures of Scores and Compare that a report shows, too: ROC curves, the scores of each label, and
two runs against each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from core.base.texts import NO_BIOLOGY
from core.features.scores.calibration import NUMBERS, labelled_values
from core.features.scores.plots import roc_curves, score_histograms
from core.plots import forest_plot, rank_scatter
from core.plots.printed import CaptionedFigure, captioned, together
from core.scoring import run_scores
from core.scoring.compare_runs import RunComparison
from core.scoring.row_numbers import score_name
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.sentences import TWO_WAY, interval_text, scored_text
from core.stats.calibration import tie_bounds
from core.stats.ranks import ranks_from_top, round_for_ranks
from core.stats.scores_and_labels import outcome_of, tasks

RANKS_TITLE = "Ranks in both runs"


def curves_of_run(rows: RunRows, score: RunScore) -> CaptionedFigure:
    """Return the curves of a labelled run and of the baseline on its rows."""
    name, whole = rows.run.name, score.whole
    curves = {name: rows, NO_BIOLOGY: run_scores.count_rows(rows)}
    table = pd.concat(
        [
            roc_curves.table(rows.labels, {who: each.scores}, rows.cells)
            for who, each in curves.items()
        ],
        ignore_index=True,
    )
    return CaptionedFigure(
        "ROC curves of DE and DIR",
        name,
        f"AUROC of DE and of DIR: {name} {interval_text(whole.de.shown)} and"
        f" {interval_text(whole.dir.shown)}.",
        f"{name} · {whole.n_labelled:,} labelled rows, {scored_text(rows.scored)} · {NO_BIOLOGY}:"
        f" how often genes were measured, on the rows of the first run · 95% intervals {TWO_WAY}",
        roc_curves.figure(table),
        table,
    )


def spread_of_run(rows: RunRows, number: str) -> CaptionedFigure:
    """Return the values of a number of `NUMBERS` by label."""
    _, positive, values = labelled_values(rows, number)
    name = score_name(rows.run, number)
    title = f"{name} of each class"
    if len(set(positive)) < 2:
        return CaptionedFigure(
            title, rows.run.name, f"{rows.run.name}, {name}: only one class, so no comparison."
        )
    labels = ("up or down", "none") if number == NUMBERS[0] else ("up", "down")
    table = pd.DataFrame({"label": np.where(positive, *labels), "value": values})
    medians = " and ".join(
        f"{part.median():.2f} of {kind}"
        for kind, part in table.groupby("label", sort=True)["value"]
    )
    return CaptionedFigure(
        title,
        rows.run.name,
        f"{rows.run.name}: the median {name} is {medians}.",
        f"{rows.run.name} · {len(table):,} rows with a label · shares of rows, so no interval",
        score_histograms.figure(table, name),
        table,
    )


def ties_sentence(rows: RunRows) -> str:
    """Return how many values of the DE score are distinct, and how far breaking ties could move the
    score."""
    p_de = rows.frame["p_de"].to_numpy()
    distinct = len(np.unique(round_for_ranks(p_de[~np.isnan(p_de)])))
    sentence = (
        f"{score_name(rows.run)} takes {distinct:,} distinct values over {len(rows):,} rows of"
        f" {rows.run.name}."
    )
    outcome = outcome_of(rows.labels)
    de, _ = tasks(outcome, rows.scores)
    if not outcome.effect.any() or not (outcome.labelled & ~outcome.effect).any():
        return sentence
    cells = None if rows.cells is None else rows.cells[de.rows]
    bounds = tie_bounds(de.positive[de.rows], de.values[de.rows], cells)
    return (
        f"{sentence} DE is {bounds.auroc:.3f} with ties counted half; breaking all ties for or"
        f" against the labels would make it {bounds.ceiling:.3f} or {bounds.floor:.3f}."
    )


def spread_of_runs(runs: Sequence[RunRows], number: str) -> CaptionedFigure:
    """Return the middle half of a number of `NUMBERS` by label, of two or more runs in one
    figure."""
    made = [spread_of_run(rows, number) for rows in runs]
    of_labels = [
        one if one.drawn is None else replace(one, table=_quartiles(one.table)) for one in made
    ]
    found = together(
        of_labels,
        partial(forest_plot.figure, title=number, by="run", names="label", has_chance=False),
    )
    return (
        replace(found, caption=f"{found.caption} · median, and the middle half of the rows")
        if found.caption
        else found
    )


def _quartiles(table: pd.DataFrame) -> pd.DataFrame:
    of_labels = table.groupby("label", sort=False)["value"]
    return pd.DataFrame(
        {
            "label": label,
            "estimate": part.median(),
            "low": part.quantile(0.25),
            "high": part.quantile(0.75),
            "n": len(part),
        }
        for label, part in of_labels
    )


def changes_of_pair(comparison: RunComparison) -> CaptionedFigure:
    """Return a run less a baseline, with intervals by every unit of resampling."""
    a, b = comparison.names
    return replace(captioned(comparison, f"{b} against {a}"), finding=comparison.finding)


def ranks_of_pair(comparison: RunComparison) -> CaptionedFigure:
    """Return the ranks of the DE score in a baseline and a run on the rows of both."""
    a, b = comparison.names
    moved = comparison.a.frame[["pair_id", "pert", "gene", "label"]].assign(
        rank_a=ranks_from_top(comparison.a.scores.p_de),
        rank_b=ranks_from_top(comparison.b.scores.p_de),
    )
    caption = (
        f"{b} and {a} · {len(moved):,} rows of both runs · ranks of the DE score, 1 is the largest;"
        " rows with equal scores share a rank · ranks, so no interval"
    )
    chart = rank_scatter.figure(moved, a, b)
    return CaptionedFigure(
        RANKS_TITLE,
        f"{b} and {a}",
        " ".join(comparison.difference_sentences()),
        caption,
        chart,
        moved,
    )
