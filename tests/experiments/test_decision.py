"""The rule of a decision: confirmed, rejected, underpowered, and leaderboard differences of which no claim is made."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.experiments.decision import DecisionRule, PublicChange, decide, decide_public
from core.stats.intervals import Interval, normal_interval


def change(estimate: float, se: float) -> Interval:
    return normal_interval(estimate, se**2, 100, "row", "by hand", (-1.0, 1.0))


# With se 0.01: the interval is ± 0.0196, detectable is 0.0280.
@pytest.mark.parametrize(
    ("estimate", "smallest", "verdict", "words"),
    [
        (0.030, 0.03, "confirmed", "at least the 0.03 worth having"),
        (0.021, 0.02, "confirmed", "above 0"),  # also where an effect of 0.02 would mostly have been missed
        (0.021, 0.03, "rejected", "above 0, but less than the 0.03 worth having"),
        (0.010, 0.03, "rejected", "so 0.03 would have been seen"),
        (0.010, 0.02, "underpowered", "0.028 or more with 80% power"),
        (0.0, 0.001, "underpowered", "0.001 would be worth having"),
        (-0.010, 0.02, "underpowered", "with 80% power"),
        (-0.021, 0.02, "rejected", "wholly below 0"),
    ],
)
def test_the_verdict_follows_the_rule(estimate: float, smallest: float, verdict: str, words: str) -> None:
    found = decide(change(estimate, 0.01), smallest)
    assert (found.verdict, round(found.detectable, 4)) == (verdict, 0.028)
    assert words in found.reason


def test_few_clusters_detect_less() -> None:
    """Student's t with 4 degrees of freedom: (2.776 + 0.941) standard errors."""
    few = Interval(0.03, 0.002, 0.058, 0.01, 100, "pert", "by hand", clusters=5)
    assert decide(few, 0.01).detectable == pytest.approx(0.03717, abs=1e-4)


def test_a_difference_that_is_not_defined_has_no_verdict() -> None:
    with pytest.raises(InputError, match="not defined"):
        decide(change(np.nan, 0.01), 0.01)


@pytest.mark.parametrize(
    ("estimate", "detectable", "smallest", "verdict", "claims"),
    [
        (0.037, 0.033, None, "confirmed", True),
        (0.013, 0.018, None, "underpowered", False),
        (0.025, 0.018, 0.03, "rejected", True),  # it can be shown, and is less than was worth having
        (-0.003, 0.018, 0.02, "rejected", False),  # 0.02 would have been seen
        (-0.003, 0.018, 0.01, "underpowered", False),
    ],
)
def test_no_claim_is_made_of_a_leaderboard_difference_that_cannot_be_shown(
    estimate: float, detectable: float, smallest: float | None, verdict: str, claims: bool
) -> None:
    found = decide_public(PublicChange(change(estimate, 0.006), detectable, 904), smallest)
    assert (found.verdict, found.detectable) == (verdict, detectable)
    assert ("No claim" not in found.reason) == claims
    assert "904 rows" in found.reason


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"metric": "auroc"}, "metric: got 'auroc', expected de, dir, mean"),
        ({"level": "net"}, "level: got 'net'"),
        ({"unit": "cell"}, "unit: got 'cell'"),
        ({"smallest_effect": 0.0}, "smallest effect: got 0.0"),
        ({"smallest_effect": float("nan")}, "smallest effect: got nan"),
    ],
)
def test_a_rule_that_cannot_decide_is_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        DecisionRule(**values)  # type: ignore[arg-type]
