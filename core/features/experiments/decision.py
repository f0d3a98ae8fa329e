"""The rule that decides a hypothesis, fixed before its result is seen."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated

from core.base.experiment import Metric
from core.base.fields.record import check_values
from core.base.fields.setting import Effect, setting
from core.features.experiments.ledger_table import Entry
from core.features.experiments.result import METRICS
from core.stats.comparison import verdict_of
from core.stats.intervals import Interval
from core.stats.power import detectable_difference


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """The rule that decides a hypothesis: the metric, and the smallest difference that matters, by
    the interval of perturbations and genes. Raise SettingError for other values."""

    metric: Annotated[
        Metric, setting("The primary metric.", title="Primary metric", words=METRICS)
    ] = "mean"
    smallest_effect: Annotated[
        Effect,
        setting(
            "The smallest difference that matters, in AUROC or hit rate.",
            title="Smallest effect that matters",
            option="--smallest",
            key="effect",
        ),
    ] = 0.01

    def __post_init__(self) -> None:
        check_values(self)


def judged(entry: Entry, change: Interval, smallest: float) -> Entry:
    """Return an entry as a result: the difference with its verdict."""
    return replace(
        entry,
        kind="result",
        estimate=change.estimate,
        low=_finite(change.low),
        high=_finite(change.high),
        se=_finite(change.se),
        df=_finite(change.df),
        z=change.estimate / change.se if change.se > 0 else None,
        n=change.n or None,
        detectable=_finite(detectable_difference(change.se, df=change.df)),
        verdict=verdict_of(change, smallest),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
