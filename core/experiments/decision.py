"""The rule that a hypothesis is judged by, fixed before its result is seen, and the verdict on a measured difference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from core.errors import InputError
from core.stats.delong import Estimate
from core.stats.intervals import Interval
from core.stats.power import detectable_difference
from core.texts import estimate_text, number_text

Metric = Literal["de", "dir", "mean"]
Level = Literal["embedding", "fused", "other"]
DecisionUnit = Literal["row", "pert", "gene", "two-way"]
Verdict = Literal["confirmed", "rejected", "underpowered"]
METRICS: dict[str, str] = {"de": "DE", "dir": "DIR", "mean": "mean of DE and DIR"}
LEVELS: dict[str, str] = {
    "fused": "fused, as it ships",
    "embedding": "the embedding alone",
    "other": "neither: another method as a whole",
}
UNITS: dict[str, str] = {
    "two-way": "perturbations and genes",
    "pert": "perturbations",
    "gene": "genes",
    "row": "rows",
}
ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """What decides a hypothesis.

    metric: the primary one. level: of what is compared; what ships, the fused score, decides. unit: what is resampled for the
    interval. smallest_effect: the smallest difference worth having, in AUROC. Raises InputError for anything else.
    """

    metric: Metric = "mean"
    level: Level = "fused"
    unit: DecisionUnit = "two-way"
    smallest_effect: float = 0.01

    def __post_init__(self) -> None:
        for name, known in (("metric", Metric), ("level", Level), ("unit", DecisionUnit)):
            if getattr(self, name) not in get_args(known):
                raise InputError(f"decision rule: {name}: got {getattr(self, name)!r}, expected {', '.join(get_args(known))}")
        if not 0 < self.smallest_effect < 1:
            raise InputError(f"decision rule: smallest effect: got {self.smallest_effect}, expected a number between 0 and 1")

    def describe(self) -> str:
        """The rule in words."""
        return (
            f"{METRICS[self.metric]} at the level {LEVELS[self.level]}, resampling {UNITS[self.unit]}, "
            f"at least {self.smallest_effect:+g}"
        )


def interval_by(estimate: Estimate, unit: DecisionUnit) -> Interval:
    """The interval that a unit of resampling names; over both axes the one that is shown everywhere."""
    return {"row": estimate.row, "pert": estimate.pert, "gene": estimate.gene, "two-way": estimate.shown}[unit]


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, the smallest difference that would have been seen with 80% power, and the reason in words."""

    verdict: Verdict
    detectable: float
    reason: str


def decide(change: Interval, smallest_effect: float) -> Decision:
    """The verdict on a difference b - a that was measured on labelled rows.

    confirmed: the interval lies above 0 and the estimate is at least `smallest_effect`. rejected: the interval lies wholly below
    0, or an effect worth having would have been seen with 80% power and was not. underpowered: it would not have been seen.
    Raises InputError for a difference that is not defined.
    """
    if math.isnan(change.estimate) or math.isnan(change.se):
        raise InputError(
            "decision: the difference is not defined on these rows; expected labels of both classes, and an interval"
        )
    detectable = detectable_difference(change.se, POWER, ALPHA, change.df)
    found = estimate_text(change.estimate, change.low, change.high, "+.3f")
    if change.low > 0 and change.estimate >= smallest_effect:
        return Decision("confirmed", detectable, f"{found}: above 0, and at least the {smallest_effect:g} worth having.")
    if change.high < 0:
        return Decision("rejected", detectable, f"{found}: the difference lies wholly below 0.")
    could = f"these rows show a difference of {detectable:.3f} or more with 80% power"
    if detectable > smallest_effect:
        return Decision("underpowered", detectable, f"{found}: {could}, {smallest_effect:g} would be worth having.")
    if change.low > 0:
        return Decision("rejected", detectable, f"{found}: above 0, but less than the {smallest_effect:g} worth having.")
    return Decision("rejected", detectable, f"{found}: {could}, so {smallest_effect:g} would have been seen.")


@dataclass(frozen=True, slots=True)
class PublicChange:
    """The difference of two public leaderboard scores.

    change: with its interval. detectable: the smallest difference that `rows` rows of the leaderboard show with 80% power, in the
    unit of the change. rows: None if unknown. is_z: whether all is in standard errors, since only the z was published.
    """

    change: Interval
    detectable: float
    rows: int | None = None
    is_z: bool = False

    @property
    def where(self) -> str:
        """The part of the rows that the scores are of, in words."""
        return "one public half" if self.rows is None else f"one public half ({self.rows:,} rows)"


def decide_public(found: PublicChange, smallest_effect: float | None) -> Decision:
    """The verdict on a leaderboard difference: below what the leaderboard can show, no claim is made of it.

    smallest_effect: None where no rule was registered; any difference that can be shown is then worth having.
    """
    change, size = found.change, abs(found.change.estimate)
    shown = number_text(change.estimate, "+.1f") + " standard errors" if found.is_z else number_text(change.estimate, "+.3f")
    least = f"{found.detectable:.1f}" if found.is_z else f"{found.detectable:.3f}"
    if size >= found.detectable:
        decision = decide(change, smallest_effect or found.detectable)
        remark = "" if decision.verdict == "confirmed" else f" {decision.reason}"
        reason = f"{shown} is at least the {least} that {found.where} can show.{remark}"
        return Decision(decision.verdict, found.detectable, reason)
    reason = f"No claim: {shown} lies below {least}, the smallest difference that {found.where} shows with 80% power."
    can_reject = smallest_effect is not None and found.detectable <= smallest_effect
    return Decision("rejected" if can_reject else "underpowered", found.detectable, reason)
