"""How often rows of each predicted probability have an effect, or go up, as a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

import numpy as np
import pandas as pd

from core.base.result import Figure, LabelMarks, Table, hidden, inline
from core.base.texts import number_text, rows_behind
from core.scoring.run_scores import RunRows
from core.stats.arrays import Bools, Floats
from core.stats.calibration import Reliability, recalibrate, reliability
from core.stats.scores_and_labels import outcome_of
from core.store.runs import Run

NUMBERS: Final = ("P(DE)", "P(up | DE)")
RANKS: Final = (
    "Rank scores are not probabilities: only their order counts, so they cannot be calibrated."
)
FOLDS_SEED: Final = 0


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationResult:
    """The reliability of a probability of `NUMBERS`; None without a row that has a label.

    recalibrated: after a logistic curve of this slope that was fitted on other perturbations.
    """

    number: str
    label_marks: LabelMarks
    run: Run = hidden()
    reliability: Reliability | None = inline(default=None)
    recalibrated: Reliability | None = None
    slope: float | None = None

    @classmethod
    def of(cls, rows: RunRows, number: str, *, recalibrated: bool = False) -> Self:
        """Return the reliability of a probability of a run."""
        keep, positive, probability = labelled_values(rows, number)
        if not keep.any():
            return cls(number, rows.marks, rows.run)
        axes = rows.pert[keep], rows.gene[keep]
        plain = reliability(positive, probability, *axes)
        if not recalibrated:
            return cls(number, rows.marks, rows.run, plain)
        curve = recalibrate(positive, probability, axes[0], FOLDS_SEED)
        return cls(
            number,
            rows.marks,
            rows.run,
            plain,
            reliability(positive, curve.probability, *axes),
            curve.slope,
        )

    @property
    def title(self) -> str:
        """The number."""
        return f"Reliability of {self.number}"

    @property
    def sentence(self) -> str:
        """The calibration errors."""
        if self.reliability is None:
            return f"{self.number}: no row with a label."
        return f"{self.run.name}, {self.number}: {summary(self.reliability)}."

    @property
    def scope(self) -> str:
        """Which rows count."""
        rows = (
            ""
            if self.reliability is None
            else rows_behind("DE" if self.number == NUMBERS[0] else "DIR", self.reliability.n)
        )
        return " · ".join(
            filter(None, (self.run.name, rows, "95% intervals of the observed shares"))
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What is known of the labels, and what recalibration changes."""
        again = ""
        if self.recalibrated is not None and self.slope is not None:
            extreme = "too extreme" if self.slope < 1 else "too cautious"
            again = (
                f"◇ recalibrated: {summary(self.recalibrated)}; slope {self.slope:.2f}, predictions"
                f" are {extreme}."
            )
        return tuple(filter(None, (self.label_marks.sentence, again)))

    def tables(self) -> tuple[Table, ...]:
        """Return the bins."""
        found = {"Bins": self.reliability, "Bins, recalibrated": self.recalibrated}
        return tuple(
            Table(title, tuple(bin_rows(each))) for title, each in found.items() if each is not None
        )

    def figure(self) -> Figure | None:
        """Return the observed shares against the predicted probabilities."""
        if self.reliability is None:
            return None
        again = None if self.recalibrated is None else pd.DataFrame(bin_rows(self.recalibrated))
        table = pd.DataFrame(bin_rows(self.reliability))
        values = {"table": table, "score": self.number, "recalibrated": again}
        return Figure("core.features.scores.plots.reliability:figure", values, self.sentence)


def labelled_values(rows: RunRows, number: str) -> tuple[Bools, Bools, Floats]:
    """Return which rows have a number of `NUMBERS` and a label for it; of these, whether it is
    positive, and the number."""
    outcome, is_de = outcome_of(rows.labels), number == NUMBERS[0]
    values = rows.frame["p_de" if is_de else "p_up_given_de"].to_numpy(dtype=np.float64)
    keep = (outcome.labelled if is_de else outcome.directed) & ~np.isnan(values)
    return keep, (outcome.effect if is_de else outcome.up)[keep], values[keep]


def summary(found: Reliability) -> str:
    """Describe the calibration errors."""
    ece, debiased, brier = map(number_text, (found.ece, found.debiased, found.brier))
    return (
        f"expected calibration error {ece}, {debiased} without the contribution of noise, Brier"
        f" score {brier}"
    )


def bin_rows(found: Reliability) -> list[dict[str, float]]:
    """Return the bins: mean predicted probability, observed share with its interval, the range of a
    calibrated model, rows."""
    return [
        {
            "predicted": one.mean_probability,
            "observed": one.observed.estimate,
            "low": one.observed.low,
            "high": one.observed.high,
        }
        | {"band_low": one.band_low, "band_high": one.band_high, "n": one.observed.n}
        for one in found.bins
    ]
