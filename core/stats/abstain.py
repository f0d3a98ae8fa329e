"""Risk against coverage: how often a run is wrong on the rows that it is surest of, if it says nothing about the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from core.stats.arrays import Bools, Codes, Floats
from core.stats.clustered_mean import mean_over
from core.stats.intervals import Interval
from core.stats.ranks import percentiles
from core.stats.scores_and_labels import Task

COVERAGES: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class AbstainPoint:
    """coverage: the share of rows that is answered. risk: the share of these whose call is wrong."""

    coverage: float
    n: int
    risk: Interval


@dataclass(frozen=True, slots=True)
class AbstainCurve:
    """points: from few rows to all. area: the mean risk over all coverages (AURC, Geifman and El-Yaniv 2017), lower is better.

    at_random: the risk on all rows, which abstaining at random keeps. least: the area of the best possible order.
    """

    points: tuple[AbstainPoint, ...]
    area: float
    at_random: float
    least: float


def abstain_curve(task: Task, pert: Codes, gene: Codes, coverages: Sequence[float] = COVERAGES) -> AbstainCurve | None:
    """Return the curve of one question; every array of shape (n_rows,). None without rows of both classes.

    As many rows are called positive as there are positive rows, those with the highest scores, so an uncalibrated scale is no
    disadvantage; equal scores at that border are called alike. It is the surer the farther its percentile lies from the border.
    Rows that are equally sure are taken in the order of the rows.
    """
    rows = np.flatnonzero(task.rows)
    positive, ranks = task.positive[rows], percentiles(task.values[rows])
    if positive.all() or not positive.any():
        return None
    border = 1 - positive.mean()
    wrong = (ranks > border) != positive
    order = np.argsort(-np.abs(ranks - border), kind="stable")
    running = np.cumsum(wrong[order]) / np.arange(1, len(rows) + 1)
    points = tuple(_point(share, order, wrong, pert[rows], gene[rows]) for share in coverages)
    best = np.cumsum(np.sort(wrong)) / np.arange(1, len(rows) + 1)
    return AbstainCurve(points, float(running.mean()), float(wrong.mean()), float(best.mean()))


def _point(share: float, order: Codes, wrong: Bools, pert: Codes, gene: Codes) -> AbstainPoint:
    n = max(1, round(share * len(order)))
    chosen = np.zeros(len(order), dtype=np.bool_)
    chosen[order[:n]] = True
    values: Floats = wrong.astype(np.float64)
    return AbstainPoint(share, n, mean_over(values, chosen, pert, gene).shown)
