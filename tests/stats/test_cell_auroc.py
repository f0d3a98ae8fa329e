from __future__ import annotations

import numpy as np
import pytest

from core.stats.official_score import score_with_intervals
from core.stats.scores_and_labels import scores_from_probabilities
from core.stats.stratified_score import stratified_auroc
from core.transfer.labelled_rows import rows_of

N = 400
RNG = np.random.default_rng(5)
LABELS = RNG.choice(["up", "down", "none"], N)
ROWS = rows_of(RNG.integers(0, 30, N), RNG.integers(0, 50, N))
CELLS = RNG.integers(0, 9, N)
P_UP = np.where(RNG.random(N) < 0.1, np.nan, RNG.random(N) + 0.3 * (LABELS == "up"))
SCORES = scores_from_probabilities(np.round(RNG.random(N), 2), P_UP)


def test_values_are_those_of_stratified_aurocs() -> None:
    found, effect = score_with_intervals(LABELS, SCORES, ROWS.pert, ROWS.gene, CELLS), LABELS != "none"
    de = stratified_auroc(effect, SCORES.p_de, CELLS).interval.estimate
    directed = effect & ~np.isnan(SCORES.p_up)
    direction = stratified_auroc(LABELS[directed] == "up", SCORES.p_up[directed], CELLS[directed]).interval.estimate
    assert (found.de.value, found.dir.value) == pytest.approx((de, direction), abs=1e-12)
    assert found.mean.value == pytest.approx((de + direction) / 2, abs=1e-12)


def test_without_cells_and_with_a_single_one_it_is_the_ordinary_score() -> None:
    plain = score_with_intervals(LABELS, SCORES, ROWS.pert, ROWS.gene)
    assert score_with_intervals(LABELS, SCORES, ROWS.pert, ROWS.gene, None) == plain
    single = score_with_intervals(LABELS, SCORES, ROWS.pert, ROWS.gene, np.zeros(N, dtype=np.intp))
    for unit in ("row", "pert", "gene", "two_way", "shown"):
        assert getattr(single.mean, unit).se == pytest.approx(getattr(plain.mean, unit).se)


def test_the_standard_error_is_that_of_independent_simulations() -> None:
    found, errors = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        labels = rng.choice(["up", "down", "none"], N)
        scores = scores_from_probabilities(rng.random(N) + 0.4 * (labels != "none") + CELLS, rng.random(N))
        de = score_with_intervals(labels, scores, ROWS.pert, ROWS.gene, CELLS).de
        found.append(de.value)
        errors.append(de.row.se)
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.15)


def test_one_class_everywhere_is_undefined() -> None:
    cells = (LABELS != "none").astype(np.intp)
    assert np.isnan(score_with_intervals(LABELS, SCORES, ROWS.pert, ROWS.gene, cells).de.value)
