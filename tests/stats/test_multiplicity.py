from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from core.errors import InputError
from core.stats.multiplicity import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_holm_by_hand() -> None:
    # sorted .005·4 = .02, .01·3 = .03, .03·2 = .06, .04·1 = .04, which may not fall below .06
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.4]).tolist() == pytest.approx([0.8, 0.8])
    assert holm([0.9, 0.8, 0.7]).tolist() == [1.0, 1.0, 1.0]


def test_benjamini_hochberg_by_hand() -> None:
    # sorted .005·4/1 = .02, .01·4/2 = .02, .03·4/3 = .04, .04·4/4 = .04
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])
    # .02·3/1 = .06 may not exceed .03·3/2 = .045
    assert benjamini_hochberg([0.9, 0.02, 0.03]).tolist() == pytest.approx([0.9, 0.045, 0.045])


@given(P_VALUES)
def test_benjamini_hochberg_equals_scipy(p_values: list[float]) -> None:
    assert benjamini_hochberg(p_values).tolist() == pytest.approx(false_discovery_control(p_values).tolist())


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
