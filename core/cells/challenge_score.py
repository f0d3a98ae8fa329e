"""cell-eval's score of a run against a baseline run, from the tables of both.

The definition is that of `cell-eval score` (0.6.8 and 0.8.2): 1 − run / baseline if 0 is perfect, and (run − baseline) / (1 −
baseline) if 1 is perfect; negative or undefined values count as 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.cells.cell_eval import CellEvaluation
from core.errors import InputError

CHALLENGE: Final = ("overlap_at_N", "discrimination_score_l1", "mae")  # of the Virtual Cell Challenge: DES, PDS, MAE
SHORT: Final = {"overlap_at_N": "DES", "discrimination_score_l1": "PDS", "mae": "MAE"}


@dataclass(frozen=True, slots=True)
class BaselineScore:
    """One metric: its mean in both tables, and the score, 0 the baseline's and 1 a perfect prediction's."""

    metric: str
    run: float
    baseline: float
    score: float


@dataclass(frozen=True, slots=True)
class BaselineScores:
    """mean: over all metrics, as cell-eval prints it. challenge: over the challenge's three; NaN where the table lacks one of
    them. metrics: those with a best value, as in the table."""

    mean: float
    challenge: float
    metrics: tuple[BaselineScore, ...]


def score_from_baseline(found: CellEvaluation, baseline: CellEvaluation) -> BaselineScores:
    """Return the score of a table against a baseline's. Raise InputError for tables with other metrics or of other cells."""
    for what in ("version", "sample", "within", "n_genes", "n_perturbations"):
        ours, theirs = getattr(found, what), getattr(baseline, what)
        if ours != theirs:
            raise InputError(f"cell-eval's tables: {what} is {ours} and {theirs} of the baseline, expected the same")
    of_baseline = {each.name: each for each in baseline.metrics}
    if of_baseline.keys() != {each.name for each in found.metrics}:
        other = ", ".join(sorted(of_baseline.keys() ^ {each.name for each in found.metrics}))
        raise InputError(f"cell-eval's tables: only one of them has {other}, expected the same metrics")
    judged = ((each, of_baseline[each.name].mean) for each in found.metrics if each.best != "none")
    metrics = tuple(BaselineScore(each.name, each.mean, base, _score(each.best, each.mean, base)) for each, base in judged)
    by_name = {each.metric: each.score for each in metrics}
    of_challenge = [by_name.get(name, math.nan) for name in CHALLENGE]
    mean = float(np.mean(list(by_name.values()))) if by_name else math.nan
    return BaselineScores(mean, float(np.mean(of_challenge)), metrics)


def _score(best: str, run: float, baseline: float) -> float:
    whole = baseline if best == "zero" else 1 - baseline
    gain = baseline - run if best == "zero" else run - baseline
    return max(gain / whole, 0.0) if whole and not math.isnan(gain / whole) else 0.0
