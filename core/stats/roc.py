"""The ROC curve, one corner for each distinct score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Roc:
    """False and true positive rates of shape (n_distinct + 1,), from (0, 0) to (1, 1), and the score at each corner.

    A row counts as called where its score is at least the threshold; the first threshold is infinite. Rates of a class
    that has no rows are NaN.
    """

    false_positive_rate: Floats
    true_positive_rate: Floats
    threshold: Floats


def roc_curve(positive: ArrayLike, values: ArrayLike) -> Roc:
    """The curve whose area is `auroc`; positive: flags, values: finite numbers ranked as they are, both (n_rows,)."""
    chosen, numbers = validate.flags("positive", positive), validate.numbers("values", values)
    validate.same_length(positive=chosen, values=numbers)
    order = np.argsort(-numbers)
    falling, hits = numbers[order], np.cumsum(chosen[order])
    last = np.flatnonzero(np.append(falling[1:] != falling[:-1], np.ones(min(1, len(falling)), dtype=np.bool_)))
    true = np.append(0.0, hits[last])
    false = np.append(0.0, last + 1 - hits[last])
    with np.errstate(invalid="ignore"):  # 0 / 0 is NaN, as promised
        return Roc(false / false[-1], true / true[-1], np.append(np.inf, falling[last]))
