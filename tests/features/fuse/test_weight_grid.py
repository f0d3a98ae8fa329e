from __future__ import annotations

import numpy as np
import pytest

from core.base.errors import InputError
from core.features.fuse.weight_grid import GridWeights, move_one, weight_grid, weight_optimism
from core.stats.scores_and_labels import scored_rows
from core.stats.selection_optimism import CutPlan, selection_optimism
from core.transfer.fusion import live_fusion, weights_of
from tests.transfer.test_live_fusion import BASE, LABELS, OTHER, ROWS

GRID = (0.0, 0.25, 0.5, 0.75, 1.0)


@pytest.fixture(autouse=True)
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.features.fuse.weight_grid.GRID", GRID)


def first_moves() -> GridWeights:
    """The weights of the only other component."""
    return move_one(0, [0.0], [0.0])


@pytest.mark.parametrize("cells", [None, ROWS.pert % 4])
def test_every_point_of_the_plane_is_the_score_at_its_weights(cells: np.ndarray | None) -> None:
    prepared = live_fusion(LABELS, ROWS, [BASE, OTHER], cells=cells)
    plane = weight_grid(prepared, first_moves())
    for i, w_de in enumerate(GRID):
        for j, w_dir in enumerate(GRID):
            assert plane.mean[i, j] == pytest.approx(
                prepared.score_at(weights_of([w_de], [w_dir])).mean.after.value, abs=1e-12
            )
    assert plane.mean[plane.best] == plane.mean.max()


def test_the_plateau_is_within_one_standard_error_of_the_best() -> None:
    prepared = live_fusion(LABELS, ROWS, [BASE, OTHER])
    plane = weight_grid(prepared, first_moves())
    i, j = plane.best
    assert plane.se == pytest.approx(
        prepared.score_at(weights_of([GRID[i]], [GRID[j]])).mean.after.shown.se
    )
    np.testing.assert_array_equal(plane.plateau, plane.mean >= plane.mean.max() - plane.se)
    assert plane.plateau.any()
    assert not plane.plateau.all()


@pytest.mark.parametrize("position", [0, 1])
def test_one_component_moves_while_the_others_keep_their_weight(position: int) -> None:
    prepared = live_fusion(LABELS, ROWS, [BASE, OTHER, BASE])
    plane = weight_grid(prepared, move_one(position, [0.25, 0.25], [0.5, 0.5]))
    at = np.array([[0.25, 0.25], [0.5, 0.5]])
    at[:, position] = [0.5, 0.25]  # the third weight of DE, the second of DIR
    assert plane.mean[2, 1] == pytest.approx(
        prepared.score_at(weights_of(*at)).mean.after.value, abs=1e-12
    )


def test_weights_that_sum_to_more_than_1_are_scaled() -> None:
    # 0.75 beside 0.5 is 1.25: 0.6 and 0.4. 0.25 beside 0.5 stays.
    weights = move_one(1, [0.5, 0.1], [0.0, 0.1])
    np.testing.assert_allclose(weights.de[[1, 3]], [[0.5, 0.25], [0.4, 0.6]])
    np.testing.assert_allclose(weights.dir[[1, 3]], [[0.0, 0.25], [0.0, 0.75]])


def test_weights_are_chosen_on_other_perturbations_and_genes() -> None:
    plan = CutPlan(cuts=8, k=3)
    prepared = live_fusion(LABELS, ROWS, [BASE, OTHER])
    found = weight_optimism(prepared, first_moves(), plan)
    assert found.low <= found.optimism <= found.high
    assert 0 <= found.optimism < 0.05
    fused = [prepared.score_at(weights_of([weight], [weight])).fused.scores() for weight in GRID]
    assert found == selection_optimism(
        [scored_rows(LABELS, each, ROWS.pert, ROWS.gene) for each in fused], plan
    )


def test_optimism_inside_cells_counts_pairs_inside_them() -> None:
    cells = ROWS.pert % 4
    found = weight_optimism(
        live_fusion(LABELS, ROWS, [BASE, OTHER], cells=cells), first_moves(), CutPlan(cuts=4, k=2)
    )
    assert found != weight_optimism(
        live_fusion(LABELS, ROWS, [BASE, OTHER]), first_moves(), CutPlan(cuts=4, k=2)
    )
    assert found.cuts == 4


def test_labels_of_one_class_are_refused() -> None:
    with pytest.raises(InputError, match="not both classes"):
        weight_grid(live_fusion(["none"] * len(LABELS), ROWS, [BASE, OTHER]), first_moves())
