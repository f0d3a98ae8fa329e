"""The decision curve: what acting on a probability is worth, at every price of a false alarm (Vickers and Elkin 2006).

Who validates rows with a probability of at least t holds a hit to be worth (1 - t) / t false alarms. The net benefit at t
is hits / n - false alarms / n · t / (1 - t): hits per row, minus the cost of the false alarms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.stats import validate
from core.stats.arrays import Codes
from core.stats.clustered_mean import mean_over
from core.stats.delong import Estimate
from core.stats.ranks import round_for_ranks

THRESHOLDS = tuple(round(0.05 * k, 2) for k in range(1, 20))
_NO_LIMITS = (float("-inf"), float("inf"))


@dataclass(frozen=True, slots=True)
class NetBenefit:
    """The net benefit of one threshold. chosen: rows with a probability of at least it; everything: the net benefit of
    validating all rows (that of none is 0); over_everything: the difference, with its own interval.
    """

    threshold: float
    chosen: int
    benefit: Estimate
    everything: float
    over_everything: Estimate

    @property
    def is_useful(self) -> bool:
        """Whether the intervals lie above 0 and above validating everything."""
        return self.benefit.shown.low > 0 and self.over_everything.shown.low > 0


def decision_curve(
    positive: ArrayLike, probability: ArrayLike, pert: Codes, gene: Codes, thresholds: Sequence[float] = THRESHOLDS
) -> tuple[NetBenefit, ...]:
    """Return the net benefit at each threshold in (0, 1); all arrays of shape (n_rows,). NaN without rows."""
    happened, p = validate.flags("positive", positive), validate.probabilities("probability", probability)
    validate.same_length(positive=happened, probability=p, pert=pert, gene=gene)
    rounded, all_rows = round_for_ranks(p), np.ones(len(p), dtype=np.bool_)
    found = []
    for threshold in thresholds:
        price = validate.between("threshold", threshold, 0.0, 1.0) / (1 - threshold)
        worth = np.where(happened, 1.0, -price)  # of validating each row
        chosen = rounded >= threshold
        benefit, over = (
            mean_over(values, all_rows, pert, gene, _NO_LIMITS)
            for values in (np.where(chosen, worth, 0.0), np.where(chosen, 0.0, -worth))
        )
        everything = float(worth.mean()) if len(worth) else float("nan")
        found.append(NetBenefit(threshold, int(chosen.sum()), benefit, everything, over))
    return tuple(found)
