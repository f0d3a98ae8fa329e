from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import average_precision_score

from core.stats.average_precision import average_precision
from core.stats.scored_rows import scored_rows
from core.stats.scores_and_labels import Scores, scores_from_probabilities
from tests.stats.oracles import scored_rows as drawn_rows
from tests.stats.oracles import some_rows

RNG = np.random.default_rng(81)
N = 400
LABELS, DE, UP = some_rows(RNG, N)
PERT, GENE, CELLS = RNG.integers(0, 35, N), RNG.integers(0, 50, N), RNG.integers(0, 4, N)
EFFECT = LABELS != "none"
SCORES = scores_from_probabilities(DE, UP)


def bootstrap_se(unit: np.ndarray, resamples: int) -> float:
    """The standard deviation of scikit-learn's average precision over resampled units."""
    rng = np.random.default_rng(3)
    n_units = unit.max() + 1
    weights = (np.bincount(rng.integers(0, n_units, n_units), minlength=n_units)[unit] for _ in range(resamples))
    return float(np.std([average_precision_score(EFFECT, DE, sample_weight=each) for each in weights]))


@given(drawn_rows(least=1))
def test_equals_scikit_learn_for_any_ties(rows: tuple[np.ndarray, list[np.ndarray]]) -> None:
    positive, (values,) = rows
    labels = np.where(positive, "de", "none")
    found, _ = average_precision(scored_rows(labels, Scores(values, values), np.arange(len(values)), np.arange(len(values))))
    assert found.estimate.value == pytest.approx(average_precision_score(positive, values), abs=1e-12)
    assert found.base_rate == pytest.approx(positive.mean())


def test_dir_ranks_rows_with_a_direction() -> None:
    _, found = average_precision(scored_rows(LABELS, SCORES, PERT, GENE))
    up = LABELS[EFFECT] == "up"
    assert found.estimate.value == pytest.approx(average_precision_score(up, UP[EFFECT]), abs=1e-12)
    assert (found.base_rate, found.estimate.n) == (pytest.approx(up.mean()), EFFECT.sum())


@pytest.mark.few(1)
@pytest.mark.parametrize("resamples", [500, pytest.param(1500, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("unit", "codes"), [("row", np.arange(N)), ("pert", PERT), ("gene", GENE)])
def test_standard_errors_are_those_of_a_clustered_bootstrap(unit: str, codes: np.ndarray, resamples: int) -> None:
    # The standard error of a standard error from 500 resamples is 1 / √1000 of it, so 0.1 is three of these.
    found, _ = average_precision(scored_rows(LABELS, SCORES, PERT, GENE))
    assert getattr(found.estimate, unit).se == pytest.approx(bootstrap_se(codes, resamples), rel=0.1)


def test_the_standard_error_is_the_jackknifes() -> None:
    left_out = [average_precision_score(EFFECT[one != PERT], DE[one != PERT]) for one in range(35)]
    jackknife = np.sqrt(34 / 35 * np.square(left_out - np.mean(left_out)).sum())
    found, _ = average_precision(scored_rows(LABELS, SCORES, PERT, GENE))
    assert found.estimate.pert.se == pytest.approx(jackknife, rel=0.03)


def test_cells_are_averaged_over_their_positive_rows() -> None:
    found, _ = average_precision(scored_rows(LABELS, SCORES, PERT, GENE, CELLS))
    cells = [cell == CELLS for cell in range(4)]
    values = [average_precision_score(EFFECT[inside], DE[inside]) for inside in cells]
    positives = [EFFECT[inside].sum() for inside in cells]
    assert found.estimate.value == pytest.approx(np.average(values, weights=positives), abs=1e-12)
    assert found.base_rate == pytest.approx(np.average([EFFECT[inside].mean() for inside in cells], weights=positives))


def test_a_cell_of_one_class_does_not_count() -> None:
    labels = np.array(["de", "de", "none", "de", "none"])
    found, _ = average_precision(
        scored_rows(labels, Scores(*[np.array([5.0, 4, 3, 2, 1])] * 2), *[range(5)] * 2, [0, 0, 1, 1, 1])
    )
    # cell 1 alone: 3 none, 2 de, 1 none; the precision at the one positive row is 1/2
    assert (found.estimate.value, found.estimate.n, found.base_rate) == (0.5, 3, pytest.approx(1 / 3))


def test_one_class_has_no_average_precision() -> None:
    de, direction = average_precision(scored_rows(["de"] * N, SCORES, PERT, GENE))
    assert np.isnan([de.estimate.value, de.estimate.shown.se, de.base_rate, direction.estimate.value]).all()
