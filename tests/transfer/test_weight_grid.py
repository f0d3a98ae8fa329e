from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.stats.official_score import point_score
from core.transfer.fusion import weights_of
from core.transfer.live_fusion import live_fusion
from core.transfer.weight_grid import weight_grid, weight_optimism
from tests.transfer.test_live_fusion import BASE, LABELS, OTHER, ROWS

GRID = (0.0, 0.25, 0.5, 0.75, 1.0)


@pytest.mark.parametrize("cells", [None, ROWS.pert % 4])
def test_every_point_of_the_plane_is_the_score_at_its_weights(cells: np.ndarray | None) -> None:
    prepared = live_fusion(LABELS, ROWS, [BASE, OTHER], cells=cells)
    plane = weight_grid(prepared, GRID)
    for i, w_de in enumerate(GRID):
        for j, w_dir in enumerate(GRID):
            assert plane.mean[i, j] == pytest.approx(prepared.score_at(weights_of([w_de], [w_dir])).mean.after.value, abs=1e-12)
    assert plane.mean[plane.best] == plane.mean.max()


def test_the_plateau_is_within_one_standard_error_of_the_best() -> None:
    prepared = live_fusion(LABELS, ROWS, [BASE, OTHER])
    plane = weight_grid(prepared, GRID)
    i, j = plane.best
    assert plane.se == pytest.approx(prepared.score_at(weights_of([GRID[i]], [GRID[j]])).mean.after.shown.se)
    np.testing.assert_array_equal(plane.plateau, plane.mean >= plane.mean.max() - plane.se)
    assert plane.plateau.any()
    assert not plane.plateau.all()


def test_several_components_divide_their_weight() -> None:
    prepared = live_fusion(LABELS, ROWS, [BASE, OTHER, BASE])
    plane = weight_grid(prepared, GRID, shares=[0.75, 0.25])
    found = prepared.score_at(weights_of([0.5 * 0.75, 0.5 * 0.25], [0.5 * 0.75, 0.5 * 0.25]))
    assert plane.mean[2, 2] == pytest.approx(found.mean.after.value)


def test_weights_chosen_on_other_folds() -> None:
    rng = np.random.default_rng(0)
    folds = ROWS.pert % 5
    found, settings = weight_optimism(live_fusion(LABELS, ROWS, [BASE, OTHER]), folds, GRID)
    assert settings[found.best][0] > 0  # the other component knows the answer
    assert 0 <= found.optimism < 0.05
    noise = live_fusion(rng.permutation(LABELS), ROWS, [BASE, OTHER])
    gaps = [weight_optimism(noise, rng.integers(0, 5, len(LABELS)), GRID)[0] for _ in range(20)]
    assert np.mean([gap.optimism for gap in gaps]) > 0


def test_the_tuned_value_is_the_mean_of_the_folds() -> None:
    folds = ROWS.pert % 3
    prepared = live_fusion(LABELS, ROWS, [BASE, OTHER])
    found, settings = weight_optimism(prepared, folds, GRID)
    values = []
    for fold in range(3):
        rows = folds == fold
        weights = weights_of([settings[found.best][0]], [settings[found.best][1]])
        fused = prepared.score_at(weights).fused
        values.append((point_score(LABELS[rows], fused.scores().take(rows)).mean, rows.sum()))
    assert found.tuned == pytest.approx(sum(v * n for v, n in values) / len(LABELS), abs=1e-12)


def test_labels_of_one_class_are_refused() -> None:
    with pytest.raises(InputError, match="not both classes"):
        weight_grid(live_fusion(["none"] * len(LABELS), ROWS, [BASE, OTHER]), GRID)
