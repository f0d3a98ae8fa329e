"""The rule of a decision: what the interval decides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.features.experiments.ledger_table import HERE, DecisionRule, Entry, judged
from core.stats.intervals import Interval, normal_interval
from core.stats.verdicts import verdict_of

CLAIM = Entry(kind="registration", name="x", hypothesis="h", source=HERE)


def change(estimate: float, se: float) -> Interval:
    return normal_interval(estimate, se**2, 100, "row", "by hand", (-1.0, 1.0))


# With se 0.01: the interval is ± 0.0196, detectable is 0.0280.
@pytest.mark.parametrize(
    ("estimate", "smallest", "verdict"),
    [
        (0.030, 0.03, "confirmed"),
        (0.021, 0.02, "confirmed"),  # also where an effect of 0.02 would mostly have been missed
        (0.021, 0.03, "undecided"),
        (0.021, 0.05, "confirmed, small"),
        (0.010, 0.03, "rejected"),
        (0.011, 0.03, "undecided"),
        (-0.010, 0.009, "undecided"),
        (-0.021, 0.02, "harmful"),
    ],
)
def test_the_verdict_follows_the_rule(estimate: float, smallest: float, verdict: str) -> None:
    result = judged(CLAIM, change(estimate, 0.01), smallest)
    assert (result.kind, result.verdict) == ("result", verdict)
    assert result.detectable == pytest.approx(0.0280, abs=1e-4)
    assert (result.z, result.n) == (pytest.approx(100 * estimate), 100)


def test_few_clusters_detect_less() -> None:
    """The noncentral t with 4 degrees of freedom exceeds 2.776 in 80% at 3.761."""
    few = Interval(0.03, 0.002, 0.058, 0.01, 100, "pert", "by hand", clusters=5)
    result = judged(CLAIM, few, 0.01)
    assert (result.detectable, result.df) == (pytest.approx(0.03761, abs=1e-5), 4)


@pytest.mark.parametrize(("estimate", "se"), [(np.nan, 0.01), (0.5, np.nan)])
def test_without_an_interval_there_is_no_verdict(estimate: float, se: float) -> None:
    result = judged(CLAIM, change(estimate, se), 0.01)
    assert (result.verdict, result.low, result.z) == ("no verdict", None, None)


@given(st.floats(-0.2, 0.2), st.floats(1e-4, 0.1), st.floats(1e-3, 0.2))
def test_nothing_is_rejected_whose_interval_holds_what_is_worth_having(
    estimate: float, se: float, smallest: float
) -> None:
    found = change(estimate, se)
    verdict = verdict_of(found, smallest)
    if found.low <= smallest <= found.high:
        assert verdict in ("confirmed", "undecided")
    if found.low <= 0 <= found.high:
        assert verdict in ("rejected", "undecided")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"metric": "auroc"}, "metric: got 'auroc', expected de, dir, mean"),
        ({"smallest_effect": 0.0}, "smallest_effect: got 0.0"),
        ({"smallest_effect": float("nan")}, "smallest_effect: got nan"),
    ],
)
def test_a_rule_that_cannot_decide_is_refused(values: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        DecisionRule(**values)  # type: ignore[arg-type]
