"""Three classes at once, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss as sklearn_log_loss
from sklearn.metrics import roc_auc_score

from core.errors import InputError
from core.stats import three_classes
from core.stats.scored_rows import ScoredRows, scored_rows
from core.stats.scores_and_labels import scores_from_submission
from core.stats.three_classes import CLASSES, class_probabilities

RNG = np.random.default_rng(5)
N = 400
PROBABILITY = RNG.dirichlet((2.0, 1.0, 3.0), N)
UP, DOWN = PROBABILITY[:, 0], PROBABILITY[:, 1]
LABELS = np.array([RNG.choice(CLASSES, p=0.5 * p + 0.5 / 3) for p in PROBABILITY], dtype=object)
PERT, GENE = RNG.integers(0, 25, N), RNG.integers(0, 40, N)
CODES = np.array([CLASSES.index(label) for label in LABELS])


def _rows(labels: np.ndarray = LABELS) -> ScoredRows:
    return scored_rows(labels, scores_from_submission(UP, DOWN), PERT, GENE)


ROWS, GIVEN = _rows(), class_probabilities(UP, DOWN)


def test_one_vs_rest_aurocs_are_scikit_learns() -> None:
    found = three_classes.class_aurocs(ROWS, GIVEN)
    for k, name in enumerate(CLASSES):
        assert getattr(found, name).value == pytest.approx(roc_auc_score(k == CODES, GIVEN[:, k]), abs=1e-12)
    assert found.macro.value == pytest.approx(roc_auc_score(CODES, GIVEN, multi_class="ovr"), abs=1e-12)
    assert 0 < found.macro.shown.low < found.macro.value < found.macro.shown.high < 1


def test_losses_are_scikit_learns_and_the_definition_of_brier() -> None:
    loss, brier = three_classes.log_loss(ROWS, GIVEN), three_classes.brier_score(ROWS, GIVEN)
    shares = np.bincount(CODES) / N
    everywhere = np.tile(shares, (N, 1))
    assert loss.loss.value == pytest.approx(sklearn_log_loss(CODES, GIVEN))
    assert loss.of_shares == pytest.approx(sklearn_log_loss(CODES, everywhere))
    happened = np.eye(3)[CODES]
    assert brier.loss.value == pytest.approx(((GIVEN - happened) ** 2).sum(axis=1).mean())
    assert brier.of_shares == pytest.approx(((everywhere - happened) ** 2).sum(axis=1).mean())
    for each in (loss, brier):
        assert each.gain.value == pytest.approx(each.of_shares - each.loss.value)
        assert each.gain.shown.low < each.gain.value < each.gain.shown.high


def test_a_class_that_was_held_impossible_costs_as_much_as_in_scikit_learn() -> None:
    given = class_probabilities([0.0, 0.5], [0.5, 0.2])
    rows = scored_rows(["up", "none"], scores_from_submission([0.0, 0.5], [0.5, 0.2]), [0, 1], [0, 1])
    expected = sklearn_log_loss([0, 2], given, labels=[0, 1, 2])
    assert three_classes.log_loss(rows, given).loss.value == pytest.approx(expected)


def test_directed_hits_count_rows_that_went_where_they_were_said_to_go() -> None:
    [top] = three_classes.directed_hits(ROWS, GIVEN, [50])
    best = np.argsort(-np.maximum(UP, DOWN))[:50]
    right = LABELS[best] == np.where(UP[best] >= DOWN[best], "up", "down")
    assert top.precision.value == pytest.approx(right.mean())
    said = np.where(UP >= DOWN, "up", "down")
    assert top.base_rate == pytest.approx((said == LABELS).mean())


def test_rows_without_a_known_class_do_not_count() -> None:
    labels = LABELS.copy()
    labels[:100], labels[100:150] = None, "de"
    rest = np.arange(N) >= 150
    found = three_classes.log_loss(_rows(labels), GIVEN)
    assert found.loss.n == rest.sum()
    assert found.loss.value == pytest.approx(sklearn_log_loss(CODES[rest], GIVEN[rest]))
    none = three_classes.brier_score(_rows(np.full(N, None)), GIVEN)
    assert np.isnan([none.loss.value, none.of_shares, none.gain.value]).all()


def test_numbers_that_are_no_probabilities_are_refused() -> None:
    with pytest.raises(InputError, match="row 1: expected at most 1"):
        class_probabilities([0.5, 0.7], [0.5, 0.4])
