"""The rule for judging a hypothesis, fixed before its result is seen, and the verdict on a measured difference."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.fields.record import check_values, setting
from core.stats.delong import Estimate
from core.stats.intervals import Interval, why_no_interval
from core.stats.power import detectable_difference
from core.stats.verdicts import Verdict, times_to_decide, verdict_of
from core.texts import estimate_text, number_text

Metric = Literal["de", "dir", "mean"]
Level = Literal["embedding", "fused", "other"]
DecisionUnit = Literal["row", "pert", "gene", "two-way"]
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
NOT_DETERMINED = "the rows do not determine its standard error"


def deciding_level() -> Any:
    """Return the setting of the level of the compared scores."""
    return setting(
        "fused", "The level that decides; the shipped predictions are fused.", title="Level that decides", words=LEVELS
    )


def resampled_unit() -> Any:
    """Return the setting of the unit of the interval."""
    return setting("two-way", "What is resampled.", title="Resampled", words=UNITS)


def smallest_difference(default: Any) -> Any:
    """Return the setting of the smallest effect, which a person who types a command has to say."""
    return setting(
        default,
        "The smallest difference that matters, in AUROC or hit rate.",
        title="Smallest effect that matters",
        above=0,
        below=1,
        flag="--smallest",
        key="effect",
        required=True,
    )


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """The rule that decides a hypothesis.

    metric: the primary one. level: of the compared scores; the submitted, fused score decides. unit: the resampled unit of the
    interval. smallest_effect: the smallest difference that matters, in AUROC. Raise InputError for other values.
    """

    metric: Metric = setting("mean", "The primary metric.", title="Primary metric", words=METRICS)
    level: Level = deciding_level()
    unit: DecisionUnit = resampled_unit()
    smallest_effect: float = smallest_difference(0.01)

    def __post_init__(self) -> None:
        check_values(self)

    def describe(self) -> str:
        """Return the rule in words."""
        return (
            f"{METRICS[self.metric]} at the level {LEVELS[self.level]}, resampling {UNITS[self.unit]}, "
            f"at least {self.smallest_effect:+g}"
        )


def interval_by(estimate: Estimate, unit: DecisionUnit) -> Interval:
    """Return the interval for a unit of resampling; for both axes, the interval that is shown everywhere."""
    return {"row": estimate.row, "pert": estimate.pert, "gene": estimate.gene, "two-way": estimate.shown}[unit]


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, and its reason in words.

    detectable: the smallest difference detected with 80% power, for planning only. rows_needed: approximate number of rows to
    decide an undecided result; None if it is decided, unknown, or unrealistic.
    """

    verdict: Verdict
    detectable: float
    reason: str
    rows_needed: int | None = None


def decide(change: Interval, smallest_effect: float) -> Decision:
    """Return the verdict on a difference b - a measured on labelled rows, by `core.stats.verdicts`."""
    verdict = verdict_of(change, smallest_effect)
    detectable = detectable_difference(change.se, POWER, ALPHA, change.df)
    if verdict == "no verdict":
        why = why_no_interval(change) or NOT_DETERMINED
        return Decision(verdict, detectable, f"{number_text(change.estimate, '+.3f')}: no interval, so no verdict: {why}.")
    found = estimate_text(*change.ends, "+.3f")
    if verdict != "undecided":
        return Decision(verdict, detectable, f"{found}: {_reason(verdict, change, smallest_effect)}.")
    times = times_to_decide(change, smallest_effect)
    rows = math.ceil(times * change.n) if change.n and math.isfinite(times) else None
    reason = f"{found}: {_open_words(change, smallest_effect)}; {_rows_words(times, rows)}."
    return Decision(verdict, detectable, reason, rows)


def _reason(verdict: Verdict, change: Interval, smallest: float) -> str:
    if verdict == "confirmed":
        whole = change.low >= smallest
        return f"the whole interval is at least the {smallest:g} that matters" if whole else _at_least(smallest)
    return {
        "confirmed, small": f"above 0, and the whole interval is below the {smallest:g} that matters",
        "harmful": "the whole interval is below 0",
        "rejected": f"the whole interval is below the {smallest:g} that matters",
    }[verdict]


def _at_least(smallest: float) -> str:
    return f"the interval is above 0, and the estimate is at least the {smallest:g} that matters"


def _open_words(change: Interval, smallest: float) -> str:
    if change.low > 0:
        return f"above 0, but it may be less or more than the {smallest:g} that matters"
    return f"the interval contains both 0 and the {smallest:g} that matters"


def _rows_words(times: float, rows: int | None) -> str:
    if math.isinf(times):
        return "no realistic number of rows would decide a difference this close to it"
    many = f"about {times:,.1f} times as many rows" if rows is None else f"about {rows:,} rows"
    return f"{many} would decide it if the estimate stays"


@dataclass(frozen=True, slots=True)
class PublicChange:
    """The difference of two public leaderboard scores.

    change: with its interval. detectable: the smallest difference that `rows` rows of the leaderboard detect with 80% power, in
    the unit of the change. rows: None if unknown. is_z: whether all values are in standard errors, because only the z was
    published.
    """

    change: Interval
    detectable: float
    rows: int | None = None
    is_z: bool = False

    @property
    def where(self) -> str:
        """A description of the scored part of the rows."""
        return "one public half" if self.rows is None else f"one public half ({self.rows:,} rows)"


def decide_public(found: PublicChange, smallest_effect: float | None) -> Decision:
    """Return the verdict on a leaderboard difference, by the same rule.

    Nothing is claimed below the leaderboard's smallest detectable difference. smallest_effect: None without a registered rule;
    then any detectable difference matters, and none is rejected.
    """
    change = found.change
    shown = number_text(change.estimate, "+.1f") + " standard errors" if found.is_z else number_text(change.estimate, "+.3f")
    least = f"{found.detectable:.1f}" if found.is_z else f"{found.detectable:.3f}"
    decision = decide(change, smallest_effect or found.detectable)
    if abs(change.estimate) >= found.detectable:
        remark = "" if decision.verdict == "confirmed" else f" {decision.reason}"
        reason = f"{shown} is at least the {least} that {found.where} can show.{remark}"
        return replace(decision, detectable=found.detectable, reason=reason)
    reason = f"No claim: {shown} is below {least}, the smallest difference that {found.where} shows with 80% power."
    is_rejected = smallest_effect is not None and decision.verdict == "rejected"
    remark = f" {decision.reason}" if is_rejected else ""
    return Decision("rejected" if is_rejected else "undecided", found.detectable, reason + remark)
