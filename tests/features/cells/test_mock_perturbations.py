"""Mock perturbations are like real ones, and every effect of theirs is false."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.cells.comparisons import LEAST_MOCKS, MockChanges, Mocks, draw_mocks
from core.features.cells.labels import Calibration, Thresholds, calibrate
from core.features.cells.replicates import CellGroup

N = 400
OF_CELL = np.repeat([-1, 0, 1], [200, 150, 50])
STRATA = np.concatenate(
    [np.tile([0, 1], 100), np.zeros(150, dtype=int), np.tile([0, 1], 25)]
)  # A is in one stratum alone


@pytest.mark.parametrize("with_guides", [True, False])
def test_a_mock_has_the_strata_and_guides_of_a_perturbation(with_guides: bool) -> None:
    guide = (
        np.concatenate([np.arange(200) // 2 % 4, np.full(150, 5), 6 + np.tile([0, 0, 1, 1, 2], 10)])
        if with_guides
        else None
    )
    found = draw_mocks(OF_CELL, STRATA, guide, 30)
    assert (len(found.groups), found.n_guides, found.genes.tolist()) == (
        LEAST_MOCKS,
        2 * with_guides,
        list(range(30)),
    )
    kinds = set()
    for each in found.groups:
        assert (OF_CELL[each.cells] == -1).all()
        assert not set(each.cells) & set(each.reference)
        kinds.add(tuple(np.bincount(STRATA[each.cells], minlength=2).tolist()))
        if guide is not None:
            assert len(np.unique(guide[each.cells])) <= 2
            assert not set(guide[each.cells]) & set(guide[each.reference])
        else:
            assert len(each.cells) + len(each.reference) == 200
    # A has 150 cells in stratum 0, of which a mock gets what there is: a guide of four, or about half; B has 25 in both
    assert any(b == 0 for _, b in kinds)
    assert (25, 25) in kinds


def test_too_few_controls_make_no_mock() -> None:
    assert draw_mocks(np.repeat([-1, 0], [12, 30]), np.zeros(42, dtype=int), None, 5) is None
    assert draw_mocks(np.full(40, -1), np.zeros(40, dtype=int), None, 5) is None


@pytest.mark.parametrize(
    ("real_effects", "false_share", "marked"),
    [(0.2, 0.5, True), (10.0, 0.15, True), (40.0, 0.0375, False)],
)
def test_false_effects_are_counted_by_the_rule_of_labels(
    real_effects: float, false_share: float, marked: bool
) -> None:
    """Two mocks in 4 of 12 genes: one has an effect that counts, three times as many in all genes; others are too small, not
    significant, or none of replicates."""
    p = np.array([[1e-6, 1e-6, 1e-6, 0.9], [0.5, 0.5, 0.5, np.nan]])
    log2_fc = np.array([[1.0, 0.1, -1.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
    replicate_p = np.array([[1e-6, 1e-6, 0.5, 0.5], [np.nan] * 4])
    mocks = Mocks(
        (CellGroup(np.arange(7), np.arange(9)), CellGroup(np.arange(9), np.arange(7))),
        np.arange(4),
        0,
    )
    found = calibrate(MockChanges(mocks, p, log2_fc, replicate_p), Thresholds(), real_effects, 12)
    expected = Calibration(2, 8, 0, 4, 12, 1.5, real_effects, false_share, 0.05, 3 / 7)
    assert found == expected
    assert (found.marked, found.record()["marked"]) == (marked, marked)
