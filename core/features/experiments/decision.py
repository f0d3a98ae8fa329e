"""The rule that decides a hypothesis, fixed before its result is seen."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from core.base.experiment import Metric
from core.features.experiments.result import METRICS
from core.fields.record import check_values, setting
from core.stats.delong import Estimate
from core.stats.intervals import Interval
from core.stats.power import detectable_difference
from core.stats.verdicts import Verdict, verdict_of
from core.store.hypotheses import Entry

Level = Literal["embedding", "fused", "other"]
DecisionUnit = Literal["row", "pert", "gene", "two-way"]
LEVELS = {
    "fused": "fused, as it ships",
    "embedding": "the embedding alone",
    "other": "neither: another method as a whole",
}
UNITS = {
    "two-way": "perturbations and genes",
    "pert": "perturbations",
    "gene": "genes",
    "row": "rows",
}
REASONS: Mapping[Verdict, str] = MappingProxyType(
    {
        "confirmed": "the interval is above 0, and the estimate at least what matters",
        "confirmed, small": "above 0, and the whole interval below what matters",
        "rejected": "the whole interval is below what matters",
        "harmful": "the whole interval is below 0",
        "undecided": "it may be less or more than what matters",
        "no verdict": "no interval",
    }
)


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """The rule that decides a hypothesis: the metric, the level of the compared scores, the unit of
    resampling, and the smallest difference that matters. Raise SettingError for other values."""

    metric: Metric = setting("mean", "The primary metric.", title="Primary metric", words=METRICS)
    level: Level = setting(
        "fused",
        "The level that decides; the shipped predictions are fused.",
        title="Level that decides",
        words=LEVELS,
    )
    unit: DecisionUnit = setting("two-way", "What is resampled.", title="Resampled", words=UNITS)
    smallest_effect: float = setting(
        0.01,
        "The smallest difference that matters, in AUROC or hit rate.",
        title="Smallest effect that matters",
        above=0,
        below=1,
        flag="--smallest",
        key="effect",
        required=True,
    )

    def __post_init__(self) -> None:
        check_values(self)


def interval_by(estimate: Estimate, unit: DecisionUnit) -> Interval:
    """Return the interval by a unit of resampling; for both axes, the one that is shown everywhere."""
    interval: Interval = estimate.shown if unit == "two-way" else getattr(estimate, unit)
    return interval


def judged(entry: Entry, change: Interval, smallest: float | None, public: float | None = None) -> Entry:
    """Return an entry as a result: the difference with its verdict.

    public: the smallest difference that a leaderboard detects with 80% power, where the difference is
    of two of its scores: no smaller one is claimed. smallest: None without a registered one; then any
    detectable difference matters, and none is rejected.
    """
    detectable = public or detectable_difference(change.se, df=change.df)
    verdict = verdict_of(change, smallest or detectable)
    reason = REASONS[verdict]
    if public is not None and abs(change.estimate) < public:
        verdict = verdict if smallest and verdict == "rejected" else "undecided"
        reason = f"no claim: below {public:.3f}, what the leaderboard shows with 80% power"
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
        detectable=_finite(detectable),
        verdict=verdict,
        reason=reason,
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
