"""DeLong's intervals: rows are independent, and one sort gives the variance.

DeLong, DeLong and Clarke-Pearson, Biometrics 1988, 44:837-845; the O(n log n) form is Sun and Xu's (2014).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Floats
from core.stats.influence import covariance, influence_of, variance_of
from core.stats.intervals import Interval, normal_interval
from core.stats.score_inputs import Task

ONE = np.array([1.0])
SECOND_LESS_FIRST = np.array([-1.0, 1.0])


def task_of(positive: ArrayLike, values: ArrayLike) -> Task:
    """The AUROC of all rows; positive: flags of shape (n_rows,), values: finite numbers, ranked as they are."""
    chosen = validate.flags("positive", positive)
    numbers = validate.numbers("values", values)
    n_rows = validate.same_length(positive=chosen, values=numbers)
    return Task(np.ones(n_rows, dtype=np.bool_), chosen, numbers)


def delong(positive: ArrayLike, values: ArrayLike) -> Interval:
    """One AUROC with DeLong's interval; NaN with one class, no interval with a single row of a class."""
    return _interval([task_of(positive, values)], ONE, (0.0, 1.0))


def delong_difference(positive: ArrayLike, first: ArrayLike, second: ArrayLike) -> Interval:
    """AUROC of `second` minus AUROC of `first` on the same rows, with DeLong's paired interval."""
    return _interval([task_of(positive, first), task_of(positive, second)], SECOND_LESS_FIRST, (-1.0, 1.0))


def _interval(tasks: list[Task], weights: Floats, limits: tuple[float, float]) -> Interval:
    influence = influence_of(tasks)
    variance = variance_of(weights, covariance(influence))[0]
    n_rows = len(tasks[0].rows)
    return normal_interval(influence.combined(weights)[0], variance, n_rows, "row", "DeLong", limits)
