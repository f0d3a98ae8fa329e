"""What single ideas compute, on cases small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pytest

from core.evidence.packs import Packs, Source
from core.features.experiments.ideas.graph_features import walk_features
from core.features.experiments.ideas.idea import Trial
from core.features.experiments.ideas.knn_ideas import (
    membership_space,
    network_similarity,
    partners_of,
)
from core.features.experiments.ideas.learned import (
    predict_cells,
)
from core.features.experiments.ideas.saved_runs import flatten, rank_with_ties
from core.transfer.protocols import EvaluationProtocol, cells_of, parts_of
from core.transfer.row_index import rows_of

EDGES = [("A", "B", 900), ("B", "C", 500), ("C", "Z", 700)]


def test_a_space_of_groups_weighs_rare_ones_more_and_covers_their_members_alone() -> None:
    groups = {"A": ["x", "rare"], "B": ["x", "rare"], "C": ["x"], "D": ["only"], "E": []}
    space = membership_space("s", {**groups, **{f"G{i}": ["x"] if i < 2 else ["y", "z"] for i in range(12)}},
                             ["A", "B", "C", "D", "E", *(f"G{i}" for i in range(12))])  # fmt: skip
    # x, y and z have more than a fifth of the 16 listed genes, "only" a single one: "rare" alone is left, with log(16 / 2).
    assert space.columns.shape == (17, 1)
    assert space.columns[:2, 0].tolist() == pytest.approx([np.log(8)] * 2)
    assert np.isnan(space.columns[2:]).all()


def test_partners_are_both_ways_and_a_symbol_is_among_its_own() -> None:
    packs = Packs(edges=EDGES, sources={"edges": Source("s", "0" * 64)})
    assert partners_of(packs) == {
        "A": ["A", "B"],
        "B": ["B", "A", "C"],
        "C": ["C", "B", "Z"],
        "Z": ["Z", "C"],
    }


def test_network_similarities_are_scores_and_cover_who_has_a_partner_here() -> None:
    similar = network_similarity(EDGES, ("A", "B", "C", "D"))
    at = np.arange(4)
    assert similar.block(at, at)[1].tolist() == [0.9, 1.0, 0.5, 0.0]
    assert similar.covers(at).tolist() == [[True, True, True, False]]
    assert similar.block(at, at)[3].tolist() == [0.0, 0.0, 0.0, 0.0]


@pytest.mark.soak
def test_a_classifier_never_sees_the_labels_of_a_row_s_own_part() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    rows = rows_of(np.repeat(np.arange(12), 14), np.tile(np.arange(12, 26), 12))
    labels = rng.choice(np.array(["up", "down", "none"], dtype=object), len(rows))
    features = rng.normal(size=(len(rows), 3))
    features[:5] = np.nan
    protocol = EvaluationProtocol("folds", 5, 0)
    parts = parts_of(protocol, rows, rows)
    changed = np.where(
        (parts.pert[rows.pert] == 0) | (parts.gene[rows.gene] == 0), "up", labels
    ).astype(object)
    cells = cells_of(protocol, rows, parts)
    assert cells is not None
    before, after = (
        predict_cells(Trial(each, rows, (cells,), ""), features, LogisticRegression, 1)[0]
        for each in (labels, changed)
    )
    own = (parts.pert[rows.pert] == 0) & (parts.gene[rows.gene] == 0)
    np.testing.assert_array_equal(before.p_de[own], after.p_de[own])
    np.testing.assert_array_equal(before.p_up[own], after.p_up[own])
    assert not np.array_equal(before.p_de[~own], after.p_de[~own])


def test_recalibration_keeps_the_order_and_ties_are_broken_as_said() -> None:
    p = np.array([0.0, 0.2, 0.2, 0.9, 1.0])
    assert (np.diff(flatten(p)) >= 0).all()
    assert rank_with_ties(p, np.array([False, False, True, True, False])).tolist() == [
        0.0,
        1.0,
        1.5,
        2.5,
        3.0,
    ]


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
