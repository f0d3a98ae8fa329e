"""AUROC from pairs inside strata only: within a perturbation, a gene, a fold or a cell of folds.

Differences between strata do not count: a score that is constant in every stratum has exactly 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Codes, Floats
from core.stats.auroc import placements
from core.stats.delong import task_of
from core.stats.intervals import Interval, normal_interval
from core.stats.scores_and_labels import Scores, Task, outcome_of, tasks

METHOD = "pairs within strata, strata independent"


@dataclass(frozen=True, slots=True)
class Stratified:
    """An AUROC within strata, combined by their numbers of pairs; NaN if no stratum has both classes.

    pairs: number of pairs of a positive and a negative inside a stratum. used: number of strata with both classes.
    one_class: names of the strata with rows of one class only, which do not count.
    """

    interval: Interval
    pairs: int
    used: int
    one_class: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StratifiedScore:
    """DE and DIR within strata, and their mean.

    mean: with an interval that treats strata as independent.
    """

    de: Stratified
    dir: Stratified
    mean: Interval


@dataclass(frozen=True, slots=True, eq=False)
class _Within:
    summary: Stratified
    influence: Floats  # of every stratum on the AUROC


def stratified_auroc(positive: ArrayLike, values: ArrayLike, strata: ArrayLike) -> Stratified:
    """Σ pairs won inside strata / Σ pairs inside strata; each stratum is an independent unit of the interval.

    positive: flags, values: finite numbers (ranked as they are), strata: names or codes; all of shape (n_rows,).
    """
    task = task_of(positive, values)
    names, stratum = validate.names_and_codes("strata", strata)
    validate.same_length(positive=task.positive, strata=stratum)
    return _within(task, names, stratum).summary


def stratified_score(labels: ArrayLike, scores: Scores, strata: ArrayLike, cells: Codes | None = None) -> StratifiedScore:
    """DE, DIR and their mean within strata, all of shape (n_rows,).

    cells: codes of shape (n_rows,), only pairs that are inside one cell as well count; None: all pairs inside a stratum.
    """
    outcome = outcome_of(labels)
    names, stratum = validate.names_and_codes("strata", strata)
    validate.same_length(labels=outcome.labelled, scores=scores, strata=stratum)
    de, direction = (_within(task, names, stratum, cells) for task in tasks(outcome, scores))
    estimate = (de.summary.interval.estimate + direction.summary.interval.estimate) / 2
    variance = _variance((de.influence + direction.influence) / 2, max(de.summary.used, direction.summary.used))
    mean = normal_interval(estimate, variance, de.summary.interval.n, "stratum", METHOD)
    return StratifiedScore(de.summary, direction.summary, mean)


def _within(task: Task, names: Floats, stratum: Codes, cells: Codes | None = None) -> _Within:
    rows = task.rows
    n_cells = 1 if cells is None else int(cells.max(initial=0)) + 1
    inner = stratum if cells is None else stratum * n_cells + cells
    placed = placements(task.positive[rows], task.values[rows], inner[rows], len(names) * n_cells)
    pairs = placed.pairs.reshape(-1, n_cells).sum(axis=1)
    won = (np.where(placed.pairs > 0, placed.auroc, 0.0) * placed.pairs).reshape(-1, n_cells).sum(axis=1)
    total, used = pairs.sum(), pairs > 0
    estimate = won.sum() / total if total else float("nan")
    influence = np.where(used, won - estimate * pairs, 0.0) / max(total, 1)
    interval = normal_interval(estimate, _variance(influence, int(used.sum())), int(rows.sum()), "stratum", METHOD)
    one_class = names[~used & (np.bincount(stratum[rows], minlength=len(names)) > 0)]
    return _Within(Stratified(interval, int(total), int(used.sum()), tuple(map(str, one_class))), influence)


def _variance(influence: Floats, used: int) -> float:
    """The variance of a ratio of two sums over independent strata, linearised."""
    return float(np.square(influence).sum() * used / (used - 1)) if used > 1 else float("nan")
