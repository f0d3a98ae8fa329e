from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stats.cell_auroc import auroc_within_cells
from core.stats.official_score import score_with_intervals
from core.stats.scores_and_labels import Task, scores_from_probabilities
from core.transfer.row_index import rows_of
from tests.stats.oracles import scored_rows, wins

N = 400
RNG = np.random.default_rng(5)
LABELS = RNG.choice(["up", "down", "none"], N)
ROWS = rows_of(RNG.integers(0, 30, N), RNG.integers(0, 50, N))
CELLS = RNG.integers(0, 9, N)
P_UP = np.where(RNG.random(N) < 0.1, np.nan, RNG.random(N) + 0.3 * (LABELS == "up"))
SCORES = scores_from_probabilities(np.round(RNG.random(N), 2), P_UP)


def by_pairs(positive: np.ndarray, values: np.ndarray, cells: np.ndarray) -> float:
    """Pairs won and pairs, one cell after the other."""
    tables = [wins(positive[cells == cell], values[cells == cell]) for cell in np.unique(cells)]
    return sum(table.sum() for table in tables) / sum(table.size for table in tables)


@given(scored_rows(), st.integers(0, 2**32 - 1))
def test_counts_only_pairs_inside_a_cell(
    rows: tuple[np.ndarray, list[np.ndarray]], seed: int
) -> None:
    positive, (values,) = rows
    cells = np.random.default_rng(seed).integers(0, 4, len(values))
    cells[[0, 2]] = 0  # one cell holds both classes
    task = Task(np.ones(len(values), dtype=np.bool_), positive, values)
    assert auroc_within_cells(task, cells) == pytest.approx(by_pairs(positive, values, cells))
    assert auroc_within_cells(task, None) == pytest.approx(
        by_pairs(positive, values, np.zeros_like(cells))
    )


def test_a_score_of_the_cell_itself_has_exactly_a_half() -> None:
    rng = np.random.default_rng(1)
    cells, positive = rng.integers(0, 30, 300), rng.random(300) < 0.4
    assert auroc_within_cells(Task(np.ones(300, dtype=np.bool_), positive, cells / 7), cells) == 0.5
    assert np.isnan(
        auroc_within_cells(Task(np.ones(300, dtype=np.bool_), positive, cells / 7), np.arange(300))
    )


def test_values_are_those_of_pairs_inside_cells() -> None:
    found, effect = (
        score_with_intervals(LABELS, SCORES, ROWS.pert, ROWS.gene, CELLS),
        LABELS != "none",
    )
    de = by_pairs(effect, SCORES.p_de, CELLS)
    directed = effect & ~np.isnan(SCORES.p_up)
    direction = by_pairs(LABELS[directed] == "up", SCORES.p_up[directed], CELLS[directed])
    assert (found.de.value, found.dir.value) == pytest.approx((de, direction), abs=1e-12)
    assert found.mean.value == pytest.approx((de + direction) / 2, abs=1e-12)


def test_without_cells_and_with_a_single_one_it_is_the_ordinary_score() -> None:
    plain = score_with_intervals(LABELS, SCORES, ROWS.pert, ROWS.gene)
    assert score_with_intervals(LABELS, SCORES, ROWS.pert, ROWS.gene, None) == plain
    single = score_with_intervals(LABELS, SCORES, ROWS.pert, ROWS.gene, np.zeros(N, dtype=np.intp))
    for unit in ("row", "pert", "gene", "two_way", "shown"):
        assert getattr(single.mean, unit).se == pytest.approx(getattr(plain.mean, unit).se)


@pytest.mark.soak
def test_the_standard_error_is_that_of_independent_simulations() -> None:
    found, errors = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        labels = rng.choice(["up", "down", "none"], N)
        scores = scores_from_probabilities(
            rng.random(N) + 0.4 * (labels != "none") + CELLS, rng.random(N)
        )
        de = score_with_intervals(labels, scores, ROWS.pert, ROWS.gene, CELLS).de
        found.append(de.value)
        errors.append(de.row.se)
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.15)


def test_one_class_everywhere_is_undefined() -> None:
    cells = (LABELS != "none").astype(np.intp)
    assert np.isnan(score_with_intervals(LABELS, SCORES, ROWS.pert, ROWS.gene, cells).de.value)
