"""How far a public leaderboard's score can be from the truth: it is computed on a part of the rows
without a label here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from core.scoring.run_scores import RunScore
from core.stats.intervals import Z95
from core.transfer.run_cells import ALL_ROWS

# of the rows without a label: leaderboards publish the score of a half; no file says which rows
PUBLIC_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class PublicNoise:
    """The standard error of a public score on `rows` rows, the median of what `runs` labelled runs
    have on as many."""

    se: float
    rows: int
    runs: int

    @property
    def half(self) -> float:
        """Half the width of a 95% interval."""
        return Z95 * self.se

    def describe(self) -> str:
        """Describe the computation."""
        whose = "the labelled run" if self.runs == 1 else f"{self.runs} labelled runs (median)"
        return (
            f"± {self.half:.3f}: the standard error of {whose}, for {self.rows:,} rows (half of"
            f" those without a label), is {self.se:.3f}"
        )


def public_noise(scores: Iterable[RunScore], n_unlabelled: int) -> PublicNoise | None:
    """Return the noise of one public score of a dataset; None without rows to be scored on, or
    without a labelled run.

    scores: of the dataset's runs; n_unlabelled: its rows without a label. Runs that are scored over
    all rows count, others only if there are none: the noise of a cut of folds is not part of a
    public score.
    """
    rows = round(PUBLIC_SHARE * n_unlabelled)
    known = [
        each.whole
        for each in scores
        if each.whole.n_labelled and not math.isnan(each.whole.mean.shown.se)
    ]
    chosen = [each for each in known if each.scored == ALL_ROWS] or known
    if not rows or not chosen:
        return None
    on_as_many = (each.mean.shown.se * math.sqrt(each.n_labelled / rows) for each in chosen)
    return PublicNoise(median(on_as_many), rows, len(chosen))
