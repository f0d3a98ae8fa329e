from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.stats.delong import two_way_delong
from core.stats.intervals import Interval
from tests.stats.oracles import delong_covariance, scored_rows


def test_by_hand() -> None:
    # positives 0.9 and 0.4 beat 3/3 and 2/3 of the negatives; negatives 0.5, 0.3, 0.1 lose to 1/2, 2/2, 2/2 positives.
    # S10 = var(1, 2/3) = 1/18, S01 = var(1/2, 1, 1) = 1/12; variance 1/18/2 + 1/12/3 = 1/18
    interval = delong([1, 1, 0, 0, 0], [0.9, 0.4, 0.5, 0.3, 0.1])
    assert interval.estimate == pytest.approx(5 / 6)
    assert interval.se == pytest.approx(np.sqrt(1 / 18))
    assert interval.low == pytest.approx(5 / 6 - 1.959964 * np.sqrt(1 / 18), abs=1e-6)
    assert interval.high == 1.0  # cut: an AUROC cannot be 1.3
    assert (interval.n, interval.unit, interval.method) == (5, "row", "DeLong")


@given(scored_rows())
def test_equals_the_form_that_looks_at_every_pair(
    rows: tuple[np.ndarray, list[np.ndarray]],
) -> None:
    positive, scores = rows
    expected = delong_covariance(positive, scores)[0, 0]
    assert delong(positive, scores[0]).se ** 2 == pytest.approx(expected, abs=1e-14)


def test_too_few_rows_have_no_interval() -> None:
    interval = delong([1, 0, 0], [0.5, 0.4, 0.6])
    assert interval.estimate == 0.5
    assert np.isnan([interval.low, interval.high, interval.se]).all()
    assert np.isnan(delong([1, 1], [0.5, 0.4]).estimate)


def test_runs_of_different_length_are_refused() -> None:
    with pytest.raises(InputError, match="positive has 2, values has 1"):
        delong([1, 0], [0.1])


def delong(positive: ArrayLike, values: ArrayLike) -> Interval:
    rows = np.arange(len(np.asarray(positive)))
    return two_way_delong(positive, values, rows, rows).row
