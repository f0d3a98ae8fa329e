from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.metrics import roc_curve as sklearn_roc_curve

from core.base.errors import InputError
from core.stats.auroc import auroc, placements, roc_curve
from tests.stats.oracles import scored_rows, wins

Rows = tuple[np.ndarray, list[np.ndarray]]  # positive or not, and the scores of each run


@given(scored_rows(least=1), st.floats(1e-12, 1e12))
def test_equals_scikit_learn_on_any_scale(rows: Rows, scale: float) -> None:
    positive, (values,) = rows
    assert auroc(positive, values * scale) == pytest.approx(
        roc_auc_score(positive, values * scale), abs=1e-12
    )


def test_equals_scikit_learn_on_many_rows() -> None:
    rng = np.random.default_rng(3)
    positive, values = rng.random(7705) < 0.4, np.round(rng.random(7705), 2)
    assert auroc(positive, values) == pytest.approx(roc_auc_score(positive, values), abs=1e-12)


def test_one_class_is_undefined() -> None:
    assert np.isnan(auroc([1, 1], [0.1, 0.2]))
    assert np.isnan(auroc([0, 0], [0.1, 0.2]))
    assert np.isnan(auroc([], []))


def test_bad_input_is_an_error_and_never_a_number() -> None:
    with pytest.raises(InputError, match="values: row 1: got nan"):
        auroc([0, 1], [0.1, np.nan])
    with pytest.raises(InputError, match="positive has 2, values has 3"):
        auroc([0, 1], [0.1, 0.2, 0.3])


@given(scored_rows(least=1))
def test_placements_count_the_pairs_that_a_row_wins(
    rows: Rows,
) -> None:
    positive, (values,) = rows
    table, placed = wins(positive, values), placements(positive, values)
    assert placed.won[positive].tolist() == table.sum(axis=1).tolist()
    assert placed.won[~positive].tolist() == table.sum(axis=0).tolist()
    assert placed.pairs.tolist() == [table.size]


@given(scored_rows(least=1), st.integers(0, 2**32 - 1))
def test_placements_inside_strata_equal_each_stratum_alone(rows: Rows, seed: int) -> None:
    positive, (values,) = rows
    strata = np.random.default_rng(seed).integers(0, 3, len(values))
    together = placements(positive, values, strata, 4)
    for s in range(4):
        inside = strata == s
        alone = placements(positive[inside], values[inside])
        assert together.won[inside].tolist() == alone.won.tolist()
        assert (together.positives[s], together.negatives[s]) == (
            alone.positives[0],
            alone.negatives[0],
        )
        np.testing.assert_equal(together.auroc[s], alone.auroc[0])


@given(scored_rows(least=1))
def test_the_curve_equals_scikit_learn(rows: Rows) -> None:
    positive, (values,) = rows
    false, true, _ = sklearn_roc_curve(positive, values, drop_intermediate=False)
    found = roc_curve(positive, values)
    np.testing.assert_allclose(found.false_positive_rate, false, atol=1e-15)
    np.testing.assert_allclose(found.true_positive_rate, true, atol=1e-15)


def test_a_missing_class_has_no_rates_on_the_curve() -> None:
    found = roc_curve([1, 1], [0.3, 0.3])
    assert np.isnan(found.false_positive_rate).all()
    assert found.true_positive_rate.tolist() == [0.0, 1.0]
    assert len(roc_curve([], []).true_positive_rate) == 1
