"""The distribution of a run's scores over the rows of each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from core.features.scores.calibration import NUMBERS, labelled_values
from core.features.sharing.report.figure_kind import FigureKind
from core.features.sharing.report.material import Material
from core.plots import score_histograms, scores
from core.plots.captioned import CaptionedFigure, together
from core.scoring.row_numbers import score_name
from core.scoring.run_scores import RunRows
from core.stats.calibration import tie_bounds
from core.stats.ranks import round_for_ranks
from core.stats.scores_and_labels import outcome_of, tasks


def of_run(rows: RunRows, number: str) -> CaptionedFigure:
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


def of_runs(runs: Sequence[RunRows], number: str) -> CaptionedFigure:
    """Return the middle half of a number of `NUMBERS` by label, of two or more runs in one
    figure."""
    made = [of_run(rows, number) for rows in runs]
    of_labels = [
        one if one.chart is None else replace(one, table=_quartiles(one.table)) for one in made
    ]
    found = together(
        of_labels, partial(scores.figure, title=number, by="run", names="label", has_chance=False)
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


def _make(material: Material) -> Sequence[CaptionedFigure]:
    labelled = material.labelled_runs
    runs = [material.rows[run.id] for run in labelled]
    figures = [
        of_runs(runs, number) if len(runs) > 1 else of_run(runs[0], number)
        for number in NUMBERS
        if runs
    ]
    without = [
        (run.name, ties_sentence(material.rows[run.id]))
        for run in material.runs
        if run not in labelled
    ]
    return [
        *figures,
        *(
            CaptionedFigure("Scores of each class", run, f"No labels here. {ties}")
            for run, ties in without
        ),
    ]


FIGURE = FigureKind(
    "score_spread", "Distributions of the scores", "Scores of rows by label.", 80, _make
)
