"""A run's risk against coverage, and the words for it."""

from __future__ import annotations

from typing import Any

from core.scoring import json_shapes
from core.scoring.run_scores import RunRows
from core.scoring.sentences import interval_text
from core.stats.abstain import AbstainCurve, abstain_curve
from core.stats.scores_and_labels import tasks

Curves = dict[str, AbstainCurve | None]


def abstain_curves(rows: RunRows) -> Curves:
    """Return the curves of DE and DIR; None for a question without both classes. Cells of folds are no matter for one call."""
    arrays = rows.arrays
    sides = zip(("DE", "DIR"), tasks(arrays.outcome, arrays.scores), strict=True)
    return {name: abstain_curve(task, rows.pert, rows.gene) for name, task in sides}


def abstain_summary(found: Curves) -> list[str]:
    """Describe the curves in one clause for each question."""
    return [
        f"{name}: no curve, because the labels have one class or the run has no score"
        if curve is None
        else f"{name}: mean risk {curve.area:.3f} over all coverages; {curve.at_random:.3f} abstaining at random, "
        f"{curve.least:.3f} in the best order"
        for name, curve in found.items()
    ]


def abstain_sentences(found: Curves) -> list[str]:
    """Describe the curves in one line for each question and one for each coverage."""
    lines = []
    for summary, curve in zip(abstain_summary(found), found.values(), strict=True):
        points = () if curve is None else curve.points
        wrong = [f"  {each.coverage:4.0%} of rows answered: wrong in {interval_text(each.risk)} of {each.n:,}" for each in points]
        lines += [summary, *wrong]
    return [*lines, "Intervals allow for shared perturbations and genes."]


def abstain_shape(found: Curves) -> dict[str, Any]:
    """Return the curves as `score --abstain --json` has them."""
    return {
        name.lower(): None
        if curve is None
        else {
            "area": curve.area,
            "at_random": curve.at_random,
            "least": curve.least,
            "points": [
                {"coverage": each.coverage, "n": each.n, "risk": json_shapes.interval(each.risk)} for each in curve.points
            ],
        }
        for name, curve in found.items()
    }
