"""Walks in a graph small enough to count by hand."""

from __future__ import annotations

import pytest

from core.features.experiments.ideas.graph_features import walk_features

# A → B (+), B → C (−), A → C (+), C → D (unknown sign), D → A (+).
SIGNS = {("A", "B"): 1, ("B", "C"): -1, ("A", "C"): 1, ("C", "D"): 0, ("D", "A"): 1}


def test_walks_are_counted_with_damping_and_signs() -> None:
    found = walk_features(
        SIGNS, ["A", "A", "A", "B", "A"], ["B", "C", "D", "A", "Z"], cut_off=4, damping=0.5
    )
    assert found["reachable"].tolist() == [1, 1, 1, 1, 0]
    assert found["recip_dist"].tolist() == [1, 1, 1 / 2, 1 / 3, 0]
    # A to B: one edge (1/2); four edges by A C D A B (1/16). A to C: one edge, two by B (1/4), four by A C D A C (1/16).
    # A to D: by C (1/4), by B and C (1/8). B to A: by C, D (1/8).
    assert found["connectivity"].tolist() == pytest.approx([9 / 16, 13 / 16, 3 / 8, 1 / 8, 0])
    # Signs: a walk through C → D has none. A to C: + by one edge, − by B. A loss of A turns both round.
    assert found["kd_up_score"].tolist() == pytest.approx([-1 / 2, -1 / 2 + 1 / 4, 0, 0, 0])
    assert found["pert_outdeg"].tolist() == [2, 2, 2, 1, 2]


def test_the_cut_off_ends_walks() -> None:
    found = walk_features(SIGNS, ["B", "Z"], ["A", "A"], cut_off=2, damping=0.5)
    assert found["reachable"].tolist() == [0, 0]
