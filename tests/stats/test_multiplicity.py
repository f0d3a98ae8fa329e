from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, norm, t

from core.base.errors import InputError
from core.stats.intervals import Interval, normal_interval, widest_interval
from core.stats.multiplicity import adjust, benjamini_hochberg, holm, p_value

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_holm_by_hand() -> None:
    # sorted .005·4 = .02, .01·3 = .03, .03·2 = .06, .04·1 = .04, which may not fall below .06
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.4]).tolist() == pytest.approx([0.8, 0.8])
    assert holm([0.9, 0.8, 0.7]).tolist() == [1.0, 1.0, 1.0]


def test_benjamini_hochberg_by_hand() -> None:
    # sorted .005·4/1 = .02, .01·4/2 = .02, .03·4/3 = .04, .04·4/4 = .04
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx(
        [0.02, 0.04, 0.04, 0.02]
    )
    # .02·3/1 = .06 may not exceed .03·3/2 = .045
    assert benjamini_hochberg([0.9, 0.02, 0.03]).tolist() == pytest.approx([0.9, 0.045, 0.045])


@given(P_VALUES)
def test_benjamini_hochberg_equals_scipy(p_values: list[float]) -> None:
    assert benjamini_hochberg(p_values).tolist() == pytest.approx(
        false_discovery_control(p_values).tolist()
    )


@given(P_VALUES)
def test_holm_lies_between_the_false_discovery_rate_and_bonferroni(p_values: list[float]) -> None:
    p, adjusted = np.array(p_values), holm(p_values)
    assert (adjusted <= np.minimum(p * len(p), 1) + 1e-15).all()
    assert (adjusted >= benjamini_hochberg(p_values) - 1e-15).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()


def test_untested_hypotheses_stay_untested_and_cost_nothing() -> None:
    for correct in (holm, benjamini_hochberg):
        found = correct([0.02, np.nan, 0.5])
        assert np.isnan(found[1])
        assert found[[0, 2]].tolist() == correct([0.02, 0.5]).tolist()
        assert len(correct([])) == 0


def test_what_is_no_p_value_is_refused() -> None:
    with pytest.raises(InputError, match=r"p_values: row 1: got 1\.5"):
        holm([0.1, 1.5])


def difference(estimate: float, se: float, clusters: int = 15) -> Interval:
    by_unit = [normal_interval(estimate, se**2, 90, "row", "DeLong", (-1.0, 1.0))] * 4
    return widest_interval(by_unit, clusters, 2 * clusters, (-1.0, 1.0))


@pytest.mark.parametrize("estimate", [-0.05, -0.01, 0.0, 0.04299, 0.0431, 0.3])
def test_p_is_below_5_percent_exactly_if_the_interval_leaves_0_out(estimate: float) -> None:
    change = difference(estimate, 0.02)
    assert p_value(change) == pytest.approx(2 * t(14).sf(abs(estimate) / 0.02))
    assert (p_value(change) < 0.05) == (not change.low <= 0 <= change.high)


def test_p_without_clusters_is_normal_and_without_error_certain() -> None:
    assert p_value(normal_interval(0.02, 0.0001, 9, "row", "", (-1.0, 1.0))) == pytest.approx(
        2 * norm.sf(2)
    )
    assert (p_value(difference(0.0, 0.0)), p_value(difference(0.1, 0.0))) == (1.0, 0.0)
    assert np.isnan(p_value(difference(0.1, float("nan"))))


def test_several_differences_are_adjusted_for_their_number() -> None:
    changes = [
        difference(0.05, 0.02),
        difference(0.03, 0.02),
        difference(0.1, float("nan")),
        difference(0.09, 0.02),
    ]
    found = adjust([p_value(change) for change in changes])
    p = [one.p for one in found]
    assert [one.holm for one in found] == pytest.approx(holm(p).tolist(), nan_ok=True)
    assert [one.benjamini_hochberg for one in found] == pytest.approx(
        benjamini_hochberg(p).tolist(), nan_ok=True
    )
    assert found[3].holm == pytest.approx(3 * p[3])  # three are tested
    assert adjust([]) == ()
