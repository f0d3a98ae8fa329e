"""The decision curve, against its definition row by row."""

from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.stats.decision_curve import decision_curve

RNG = np.random.default_rng(8)
N = 600
P = RNG.random(N).round(2)
HAPPENED = RNG.random(N) < P
PERT, GENE = RNG.integers(0, 60, N), RNG.integers(0, 60, N)


def test_net_benefit_is_hits_less_the_price_of_false_alarms() -> None:
    found = decision_curve(HAPPENED, P, PERT, GENE, (0.2, 0.5, 0.75))
    for one, t in zip(found, (0.2, 0.5, 0.75), strict=True):
        hits = sum(1 for p, y in zip(P, HAPPENED, strict=True) if p >= t and y)
        alarms = sum(1 for p, y in zip(P, HAPPENED, strict=True) if p >= t and not y)
        assert one.benefit.value == pytest.approx(hits / N - alarms / N * t / (1 - t))
        rate = HAPPENED.mean()
        assert one.everything == pytest.approx(rate - (1 - rate) * t / (1 - t))
        assert one.over_everything.value == pytest.approx(one.benefit.value - one.everything)
        assert one.chosen == hits + alarms
        assert one.is_useful  # these probabilities are the true ones


def test_noise_is_of_no_use_where_everything_or_nothing_is_as_good() -> None:
    noise = RNG.random(N)
    assert not any(one.is_useful for one in decision_curve(HAPPENED, noise, PERT, GENE))


def test_bad_thresholds_are_refused() -> None:
    with pytest.raises(InputError, match=r"threshold: got 1\.0"):
        decision_curve(HAPPENED, P, PERT, GENE, (1.0,))
