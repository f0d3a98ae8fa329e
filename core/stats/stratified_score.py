"""AUROC from pairs inside strata only, combined by their number. Inside genes or perturbations of a run: `within_axis`.

Differences between strata do not count: a score that is constant in every stratum has exactly 0.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Floats
from core.stats.auroc import placements
from core.stats.delong import task_of
from core.stats.intervals import Interval, normal_interval

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


def stratified_auroc(positive: ArrayLike, values: ArrayLike, strata: ArrayLike) -> Stratified:
    """Σ pairs won inside strata / Σ pairs inside strata; each stratum is an independent unit of the interval.

    positive: flags, values: finite numbers (ranked as they are), strata: names or codes; all of shape (n_rows,).
    """
    task = task_of(positive, values)
    names, stratum = validate.names_and_codes("strata", strata)
    validate.same_length(positive=task.positive, strata=stratum)
    placed = placements(task.positive, task.values, stratum, len(names))
    pairs, used = placed.pairs, placed.pairs > 0
    total = pairs.sum()
    won = np.where(used, placed.auroc, 0.0) * pairs
    estimate = won.sum() / total if total else float("nan")
    influence = np.where(used, won - estimate * pairs, 0.0) / max(total, 1)
    interval = normal_interval(estimate, _variance(influence, int(used.sum())), len(stratum), "stratum", METHOD)
    return Stratified(interval, int(total), int(used.sum()), tuple(map(str, names[~used])))


def _variance(influence: Floats, used: int) -> float:
    """The variance of a ratio of two sums over independent strata, linearised."""
    return float(np.square(influence).sum() * used / (used - 1)) if used > 1 else float("nan")
