"""Cohen's kappa against scikit-learn, and its interval against the formula of Fleiss, Cohen and Everitt."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.features.arguments.rates import cohens_kappa
from tests.strength import examples


def alone(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Perturbations and genes that no two texts share."""
    return np.arange(n), np.arange(n)


def fleiss_variance(first: np.ndarray, second: np.ndarray) -> float:
    """The large-sample variance from the table of both readers' answers (Fleiss, Cohen and Everitt 1969, formula 13)."""
    n_answers, n = max(first.max(), second.max()) + 1, len(first)
    table = np.zeros((n_answers, n_answers))
    np.add.at(table, (first, second), 1 / n)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    agreed, chance = np.trace(table), rows @ columns
    kappa = (agreed - chance) / (1 - chance)
    on = sum(
        table[i, i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in range(n_answers)
    )
    off = (
        sum(
            table[i, j] * (columns[i] + rows[j]) ** 2
            for i in range(n_answers)
            for j in range(n_answers)
            if i != j
        )
        * (1 - kappa) ** 2
    )
    return float((on + off - (kappa - chance * (1 - kappa)) ** 2) / ((1 - chance) ** 2 * n))


@examples(30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60))
def test_kappa_equals_scikit_learns(pairs: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    first, second = np.array(pairs).T
    ours = cohens_kappa(first, second, *alone(len(pairs))).value
    if len({*first, *second}) == 1:
        assert np.isnan(ours)  # scikit-learn divides by 0
    else:
        assert ours == pytest.approx(metrics.cohen_kappa_score(first, second), abs=1e-12)


def test_the_row_interval_is_that_of_fleiss_cohen_and_everitt() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 200)
    second = np.where(rng.random(200) < 0.6, first, rng.integers(0, 3, 200))
    found = cohens_kappa(first, second, *alone(200))
    assert found.row.se**2 == pytest.approx(fleiss_variance(first, second) * 200 / 199, rel=1e-9)
    assert found.shown.low < found.value < found.shown.high


def test_texts_that_share_a_perturbation_say_less() -> None:
    rng = np.random.default_rng(1)
    first = np.repeat(rng.integers(0, 2, 40), 5)
    second = np.repeat(rng.integers(0, 2, 40), 5)
    found = cohens_kappa(first, second, np.repeat(np.arange(40), 5), np.arange(200))
    assert found.shown.se == pytest.approx(found.row.se * np.sqrt(5), rel=0.05)


def test_agreement_without_exception_has_no_interval_and_no_text_no_kappa() -> None:
    names = np.array(["yes", "no", "no"])
    found = cohens_kappa(names, names, *alone(3))
    assert found.value == 1
    assert np.isnan(found.shown.se)
    assert np.isnan(cohens_kappa(names[:0], names[:0], *alone(0)).value)
    with pytest.raises(InputError, match="different lengths"):
        cohens_kappa(names, names[:2], *alone(3))
