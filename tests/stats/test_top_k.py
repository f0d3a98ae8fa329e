from __future__ import annotations

import numpy as np
import pytest

from core.base.errors import InputError
from core.stats.scores_and_labels import Scores, scored_rows, scores_from_probabilities
from core.stats.top_k import precision_at
from tests.stats.oracles import some_rows

RNG = np.random.default_rng(91)
N = 600
LABELS, DE, UP = some_rows(RNG, N)
PERT, GENE = RNG.integers(0, 40, N), RNG.integers(0, 60, N)
DE = DE + 0.2 * RNG.normal(size=40)[PERT]  # some perturbations have high scores
EFFECT = LABELS != "none"
ROWS = scored_rows(LABELS, scores_from_probabilities(DE, UP), PERT, GENE)


def by_hand(labels: list[str], values: list[float]) -> tuple[np.ndarray, Scores]:
    return np.array(labels), Scores(np.array(values, dtype=float), np.array(values, dtype=float))


def test_by_hand() -> None:
    labels, scores = by_hand(["de", "none", "de", "none", "none"], [5, 4, 3, 2, 1])
    first, third = precision_at(scored_rows(labels, scores, range(5), range(5)), [1, 3])[0]
    assert (first.precision.value, first.base_rate) == (1.0, 0.4)
    assert third.precision.value == pytest.approx(2 / 3)


def test_ties_at_the_cut_count_as_a_random_choice_among_them_would() -> None:
    labels, scores = by_hand(["de", "de", "none", "none", "none"], [9, 5, 5, 5, 1])
    (found,), _ = precision_at(scored_rows(labels, scores, range(5), range(5)), [3])
    # the first is in, and two of the three tied rows, of which one is positive: (1 + 2/3) / 3
    assert found.precision.value == pytest.approx(5 / 9)


def test_direction_counts_rows_with_an_effect() -> None:
    _, (found,) = precision_at(ROWS, [30])
    order = np.argsort(-UP[EFFECT], kind="stable")
    cut = UP[EFFECT][order[29]]
    up = LABELS[EFFECT] == "up"
    above, tied = UP[EFFECT] > cut, UP[EFFECT] == cut
    expected = (up[above].sum() + up[tied].mean() * (30 - above.sum())) / 30
    assert found.precision.value == pytest.approx(expected)
    assert found.base_rate == pytest.approx(up.mean())


@pytest.mark.parametrize("k", [50, 120])
@pytest.mark.parametrize("unit", ["row", "pert", "gene"])
def test_standard_errors_are_those_of_a_clustered_bootstrap(unit: str, k: int) -> None:
    codes = {"row": np.arange(N), "pert": PERT, "gene": GENE}[unit]
    rng = np.random.default_rng(4)
    found = []
    for _ in range(800):
        rows = np.repeat(
            np.arange(N),
            np.bincount(rng.integers(0, codes.max() + 1, codes.max() + 1), minlength=N)[codes],
        )
        best = rows[np.argsort(-DE[rows], kind="stable")[: round(len(rows) * k / N)]]
        found.append(EFFECT[best].mean())
    (ours,), _ = precision_at(ROWS, [k])
    assert getattr(ours.precision, unit).se == pytest.approx(np.std(found), rel=0.2)


def test_cells_share_the_top_alike() -> None:
    cells = np.arange(N) % 2
    shifted = scores_from_probabilities(
        DE + 10 * cells, UP
    )  # one cell's scores are all higher than the other's
    (pooled,), _ = precision_at(scored_rows(LABELS, shifted, PERT, GENE), [100])
    (inside,), _ = precision_at(scored_rows(LABELS, shifted, PERT, GENE, cells), [100])
    best = [
        np.sort(np.flatnonzero(cells == cell)[np.argsort(-DE[cells == cell], kind="stable")[:50]])
        for cell in (0, 1)
    ]
    assert inside.precision.value == pytest.approx(np.mean(EFFECT[np.concatenate(best)]), abs=0.03)
    assert pooled.precision.value != inside.precision.value


def test_too_few_rows_or_one_class_have_no_number() -> None:
    (found,), _ = precision_at(ROWS, [N + 1])
    assert np.isnan(found.precision.value)
    (found,), _ = precision_at(scored_rows(["none"] * N, ROWS.scores, PERT, GENE), [10])
    assert np.isnan(found.precision.value)
    with pytest.raises(InputError, match="k: got 0"):
        precision_at(ROWS, [0])
