"""The rule of a decision: what the interval decides, and leaderboard differences of which no claim is made."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.experiments.decision import DecisionRule, PublicChange, decide, decide_public
from core.stats.intervals import Interval, normal_interval
from core.stats.verdicts import verdict_of


def change(estimate: float, se: float) -> Interval:
    return normal_interval(estimate, se**2, 100, "row", "by hand", (-1.0, 1.0))


# With se 0.01: the interval is ± 0.0196, detectable is 0.0280. Rows: 100 · (reach / distance)².
@pytest.mark.parametrize(
    ("estimate", "smallest", "verdict", "words"),
    [
        (0.030, 0.03, "confirmed", "the estimate is at least the 0.03 that matters"),
        (0.021, 0.02, "confirmed", "is above 0"),  # also where an effect of 0.02 would mostly have been missed
        (0.050, 0.03, "confirmed", "the whole interval is at least the 0.03 that matters"),
        (0.021, 0.03, "undecided", "above 0, but it may be less or more than the 0.03 that matters; about 475 rows"),
        (0.021, 0.05, "confirmed, small", "the whole interval is below the 0.05 that matters"),
        (0.010, 0.03, "rejected", "the whole interval is below the 0.03 that matters"),
        (0.0, 0.028, "rejected", "is below the 0.028"),
        (0.011, 0.03, "undecided", "contains both 0 and the 0.03 that matters; about 107 rows would decide it"),
        (0.010, 0.02, "undecided", "about 385 rows would decide it if the estimate stays"),
        (0.0, 0.0001, "undecided", "no realistic number of rows"),
        (-0.010, 0.009, "undecided", "about 107 rows"),
        (-0.021, 0.02, "harmful", "the whole interval is below 0"),
    ],
)
def test_the_verdict_follows_the_rule(estimate: float, smallest: float, verdict: str, words: str) -> None:
    found = decide(change(estimate, 0.01), smallest)
    assert (found.verdict, round(found.detectable, 4)) == (verdict, 0.028)
    assert words in found.reason


def test_few_clusters_detect_less() -> None:
    """The noncentral t with 4 degrees of freedom exceeds 2.776 in 80% at 3.761."""
    few = Interval(0.03, 0.002, 0.058, 0.01, 100, "pert", "by hand", clusters=5)
    assert decide(few, 0.01).detectable == pytest.approx(0.03761, abs=1e-5)


def test_a_difference_that_is_not_defined_has_no_verdict() -> None:
    assert decide(change(np.nan, 0.01), 0.01).verdict == "no verdict"


def test_a_difference_without_an_interval_has_no_verdict() -> None:
    found = decide(change(0.5, np.nan), 0.01)
    assert (found.verdict, found.rows_needed) == ("no verdict", None)
    assert "no interval, so no verdict" in found.reason


@pytest.mark.parametrize(("estimate", "smallest"), [(0.011, 0.03), (0.021, 0.03), (0.015, 0.01), (-0.01, 0.009)])
def test_the_rows_that_are_named_decide_it(estimate: float, smallest: float) -> None:
    """An interval is as wide as one over the square root of its rows."""
    open_one = decide(change(estimate, 0.01), smallest)
    assert open_one.verdict == "undecided"
    assert open_one.rows_needed is not None
    assert decide(change(estimate, 0.01 * np.sqrt(100 / (open_one.rows_needed + 1))), smallest).verdict != "undecided"
    assert decide(change(estimate, 0.01 * np.sqrt(100 / (open_one.rows_needed - 2))), smallest).verdict == "undecided"


@given(st.floats(-0.2, 0.2), st.floats(1e-4, 0.1), st.floats(1e-3, 0.2))
def test_nothing_is_rejected_whose_interval_holds_what_is_worth_having(estimate: float, se: float, smallest: float) -> None:
    found = change(estimate, se)
    verdict = verdict_of(found, smallest)
    if found.low <= smallest <= found.high:
        assert verdict in ("confirmed", "undecided")
    if found.low <= 0 <= found.high:
        assert verdict in ("rejected", "undecided")


@pytest.mark.parametrize(
    ("estimate", "detectable", "smallest", "verdict", "claims"),
    [
        (0.037, 0.033, None, "confirmed", True),
        (0.013, 0.018, None, "undecided", False),
        (0.025, 0.018, 0.03, "undecided", True),  # it can be shown, and its interval holds 0.03
        (0.020, 0.018, 0.04, "confirmed, small", True),  # ± 0.0118: all of it below 0.04
        (-0.003, 0.018, 0.02, "rejected", False),  # all of its interval lies below 0.02
        (-0.003, 0.018, 0.005, "undecided", False),
        (-0.003, 0.018, None, "undecided", False),  # where no effect was registered nothing is rejected
        (-0.025, 0.018, None, "harmful", True),
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
        ({"smallest_effect": 0.0}, "smallest_effect: got 0.0"),
        ({"smallest_effect": float("nan")}, "smallest_effect: got nan"),
    ],
)
def test_a_rule_that_cannot_decide_is_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        DecisionRule(**values)  # type: ignore[arg-type]
