from __future__ import annotations

import numpy as np
import pytest

from core.base.errors import InputError
from core.stats.scores_and_labels import ScoredRows, Scores, scored_rows, scores_from_probabilities
from core.stats.selection_optimism import CutPlan, cut_codes, selection_optimism
from tests.stats.oracles import pairs_won, some_rows

RNG = np.random.default_rng(121)
N = 260
LABELS, _, _ = some_rows(RNG, N)
PERT, GENE, CELLS = RNG.integers(0, 20, N), RNG.integers(0, 25, N), RNG.integers(0, 2, N)
VALUES = np.round(
    RNG.random((4, 2, N)) + 0.1 * np.stack([LABELS != "none", LABELS == "up"]), 1
)  # four settings, with ties


def settings(cells: np.ndarray | None = None) -> list[ScoredRows]:
    return [
        scored_rows(LABELS, scores_from_probabilities(de, up), PERT, GENE, cells)
        for de, up in VALUES
    ]


def won(
    rows: np.ndarray, positive: np.ndarray, values: np.ndarray, cells: np.ndarray | None
) -> tuple[float, float]:
    return pairs_won(positive[rows], values[rows], None if cells is None else cells[rows])


def one_by_one(plan: CutPlan, cells: np.ndarray | None) -> np.ndarray:
    """Tuned and out-of-fold means of each cut, of shape (cuts, 2), cell by cell and setting by setting."""
    rng, found = np.random.default_rng(plan.seed), []
    for _ in range(plan.cuts):
        pert, gene = cut_codes(PERT, plan.k, rng), cut_codes(GENE, plan.k, rng)
        metrics = []
        for which, (rows, positive) in enumerate(
            [(np.ones(N, dtype=bool), LABELS != "none"), (LABELS != "none", LABELS == "up")]
        ):
            best = np.argmax([won(rows, positive, VALUES[s, which], cells)[0] for s in range(4)])
            tuned = out = total = 0.0
            for i in range(plan.k):
                for j in range(plan.k):
                    test = rows & (pert == i) & (gene == j)
                    outside = rows & (pert != i) & (gene != j)
                    chosen = np.argmax(
                        [won(outside, positive, VALUES[s, which], cells)[0] for s in range(4)]
                    )
                    tuned += won(test, positive, VALUES[best, which], cells)[0]
                    out += won(test, positive, VALUES[chosen, which], cells)[0]
                    total += won(test, positive, VALUES[0, which], cells)[1]
            metrics.append((tuned / total, out / total))
        found.append(np.mean(metrics, axis=0))
    return np.array(found)


@pytest.mark.soak
@pytest.mark.parametrize("cuts", [2, pytest.param(6, marks=pytest.mark.soak)])
@pytest.mark.parametrize("cells", [None, CELLS])
def test_equals_the_way_that_looks_at_every_cell_and_setting(
    cells: np.ndarray | None, cuts: int
) -> None:
    plan = CutPlan(cuts=cuts, k=3, seed=5)
    found, expected = selection_optimism(settings(cells), plan), one_by_one(plan, cells)
    gains = expected[:, 0] - expected[:, 1]
    assert (found.tuned, found.out_of_fold) == pytest.approx(
        tuple(expected.mean(axis=0)), abs=1e-12
    )
    assert (found.optimism, found.low, found.high) == pytest.approx(
        (gains.mean(), gains.min(), gains.max()), abs=1e-12
    )
    assert found.cuts == cuts


def test_cuts_keep_codes_together_and_parts_alike() -> None:
    parts = cut_codes(PERT, 4, np.random.default_rng(0))
    assert all(len(set(parts[one == PERT])) == 1 for one in np.unique(PERT))
    sizes = [len(set(PERT[parts == part])) for part in range(4)]
    assert max(sizes) - min(sizes) <= 1


def test_a_setting_that_is_best_everywhere_has_no_optimism() -> None:
    truth = np.stack([LABELS != "none", LABELS == "up"]).astype(float)
    rows = [
        scored_rows(LABELS, scores_from_probabilities(*values), PERT, GENE)
        for values in (VALUES[0], truth)
    ]
    found = selection_optimism(rows, CutPlan(cuts=5, k=3))
    assert (found.tuned, found.optimism, found.low, found.high) == (1.0, 0.0, 0.0, 0.0)


def test_tuning_on_noise_is_optimistic() -> None:
    rng = np.random.default_rng(1)
    found = []
    for _ in range(12):
        noise = [
            scored_rows(LABELS, scores_from_probabilities(*rng.random((2, N))), PERT, GENE)
            for _ in range(20)
        ]
        found.append(selection_optimism(noise, CutPlan(cuts=10, k=3)))
    assert (
        np.mean([one.tuned - 0.5 for one in found]) > 0.03
    )  # the best of twenty scores of pure noise
    assert abs(np.mean([one.out_of_fold - 0.5 for one in found])) < 0.015
    assert all(one.low <= one.optimism <= one.high for one in found)


def test_a_row_without_a_direction_under_one_setting_counts_for_no_direction() -> None:
    missing = np.arange(N) % 5 == 0
    lacking = [settings()[0], *settings()[1:]]
    lacking[2] = scored_rows(
        LABELS, Scores(VALUES[2, 0], np.where(missing, np.nan, VALUES[2, 1])), PERT, GENE
    )
    everywhere = [
        scored_rows(LABELS, Scores(de, np.where(missing, np.nan, up)), PERT, GENE)
        for de, up in VALUES
    ]
    plan = CutPlan(cuts=3, k=3)
    assert (
        selection_optimism(lacking, plan)
        == selection_optimism(everywhere, plan)
        != selection_optimism(settings(), plan)
    )


def test_without_both_classes_there_is_no_value() -> None:
    rows = [scored_rows(["none"] * N, one.scores, PERT, GENE) for one in settings()]
    found = selection_optimism(rows, CutPlan(cuts=3, k=3))
    assert np.isnan([found.tuned, found.out_of_fold, found.optimism, found.low, found.high]).all()
    assert found.cuts == 0


def test_no_settings_and_no_cuts_are_refused() -> None:
    with pytest.raises(InputError, match="settings: got none"):
        selection_optimism([])
    with pytest.raises(InputError, match="k: got 1"):
        selection_optimism(settings(), CutPlan(k=1))
