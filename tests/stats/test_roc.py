from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from sklearn import metrics

from core.stats.auroc import auroc
from core.stats.roc import roc_curve
from tests.stats.oracles import scored_rows


@given(scored_rows(least=1))
def test_equals_scikit_learn(rows: tuple[np.ndarray, list[np.ndarray]]) -> None:
    positive, (values,) = rows
    false, true, threshold = metrics.roc_curve(positive, values, drop_intermediate=False)
    found = roc_curve(positive, values)
    np.testing.assert_allclose(found.false_positive_rate, false, atol=1e-15)
    np.testing.assert_allclose(found.true_positive_rate, true, atol=1e-15)
    np.testing.assert_allclose(found.threshold, threshold)


@given(scored_rows(least=1))
def test_its_area_is_the_auroc(rows: tuple[np.ndarray, list[np.ndarray]]) -> None:
    positive, (values,) = rows
    found = roc_curve(positive, values)
    area = np.trapezoid(found.true_positive_rate, found.false_positive_rate)
    assert area == pytest.approx(auroc(positive, values))


def test_a_missing_class_has_no_rates() -> None:
    found = roc_curve([1, 1], [0.3, 0.3])
    assert np.isnan(found.false_positive_rate).all()
    assert found.true_positive_rate.tolist() == [0.0, 1.0]
    assert len(roc_curve([], []).threshold) == 1
