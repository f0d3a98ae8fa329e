from __future__ import annotations

import numpy as np
import pytest

from core.base.errors import InputError
from core.transfer.knn import Similarities, Weighting, knn_priors
from core.transfer.protocols import (
    EvaluationProtocol,
    SimilaritySettings,
    cells_of,
    parts_of,
    predict_priors,
)
from core.transfer.row_index import Rows, knowledge_of, rows_of, visible_rows
from core.transfer.run_cells import evaluate
from core.transfer.similarity import Space, cosine_similarity


def sparse_screen(seed: int = 0, n: int = 1500) -> tuple[np.ndarray, Rows]:
    """A screen whose perturbations differ in how often, and how far up, they act."""
    rng = np.random.default_rng(seed)
    rows = rows_of(rng.integers(0, 60, n), rng.integers(0, 300, n))
    active, upward = rng.uniform(0.2, 0.8, 60)[rows.pert], rng.uniform(0.2, 0.8, 60)[rows.pert]
    labels = np.where(
        rng.random(n) > active, "none", np.where(rng.random(n) < upward, "up", "down")
    )
    return labels.astype(object), rows


LABELS, ROWS = sparse_screen()
KNOWN = knowledge_of(LABELS, ROWS)
FLAT = Space("flat", np.ones((300, 1)))
NOISE = Space("noise", np.random.default_rng(1).normal(size=(300, 8)))


def test_a_space_without_information_scores_a_half_under_folds() -> None:
    for seed in range(4):
        found = evaluate(
            LABELS, ROWS, predict_priors(EvaluationProtocol(seed=seed), ROWS, KNOWN, [FLAT])
        )
        for score in (found.score, found.null):
            assert (score.de.value, score.dir.value) == pytest.approx((0.5, 0.5), abs=1e-12)


def test_leave_one_out_is_biased_there_and_its_null_shows_it() -> None:
    found = evaluate(LABELS, ROWS, predict_priors(EvaluationProtocol("loo"), ROWS, KNOWN, [FLAT]))
    assert found.score.dir.value < 0.35
    assert (found.score.de.value, found.score.dir.value) == (
        found.null.de.value,
        found.null.dir.value,
    )


def test_folds_are_disjoint_on_both_axes_seeded_and_even() -> None:
    protocol = EvaluationProtocol(k=4, seed=3)
    parts = parts_of(protocol, ROWS)
    cells = cells_of(protocol, ROWS, parts)
    assert cells is not None
    for i in (0, 700, 1499):
        seen = visible_rows((int(ROWS.pert[i]), int(ROWS.gene[i])), ROWS, parts)
        cell = cells == cells[i]
        assert not set(ROWS.pert[seen]) & set(ROWS.pert[cell])
        assert not set(ROWS.gene[seen]) & set(ROWS.gene[cell])
    np.testing.assert_array_equal(np.bincount(parts.pert[np.unique(ROWS.pert)]), [15] * 4)
    again, other = parts_of(protocol, ROWS), parts_of(EvaluationProtocol(k=4, seed=4), ROWS)
    np.testing.assert_array_equal(parts.gene, again.gene)  # type: ignore[union-attr]
    assert (parts.gene != other.gene).any()  # type: ignore[union-attr]


def test_folds_do_not_depend_on_the_order_of_rows() -> None:
    order = np.random.default_rng(0).permutation(len(ROWS))
    first, second = (
        parts_of(EvaluationProtocol(), ROWS),
        parts_of(EvaluationProtocol(), ROWS.take(order)),
    )
    np.testing.assert_array_equal(first.pert, second.pert)  # type: ignore[union-attr]


def test_a_row_is_predicted_from_the_rows_outside_its_cell_alone() -> None:
    found = predict_priors(
        EvaluationProtocol(), ROWS, KNOWN, [NOISE], SimilaritySettings(Weighting(k=20), centre=True)
    )
    parts = parts_of(EvaluationProtocol(), ROWS)
    ensemble = cosine_similarity([NOISE], np.unique(ROWS.gene))
    for i in (0, 10, 900):
        seen = visible_rows((int(ROWS.pert[i]), int(ROWS.gene[i])), ROWS, parts)
        apart = knn_priors(
            ROWS.take(np.array([i])), KNOWN.take(seen), Similarities(ensemble), Weighting(k=20)
        )
        assert (found.priors.de[i], found.priors.up[i]) == pytest.approx(
            (apart.de[0], apart.up[0]), abs=1e-12
        )


def test_the_test_protocol_sees_everything_and_refuses_its_own_rows() -> None:
    others = rows_of([100, 101], [5, 6])
    found = predict_priors(EvaluationProtocol("test"), others, KNOWN, [NOISE])
    assert found.cells is None
    expected = knn_priors(others, KNOWN, Similarities(cosine_similarity([NOISE])))
    np.testing.assert_array_equal(found.priors.de, expected.de)
    with pytest.raises(
        InputError, match="protocol test: row 1: in the knowledge base with its own label"
    ):
        predict_priors(
            EvaluationProtocol("test"),
            rows_of([100, ROWS.pert[7]], [5, ROWS.gene[7]]),
            KNOWN,
            [NOISE],
        )


def built(rebuild: object = None) -> Space:
    """A space made from the labels themselves: how often a gene responds."""
    return Space("co-response", columns_from(np.ones(len(KNOWN), dtype=bool)), "demo/all", rebuild)  # type: ignore[arg-type]


def columns_from(rows: np.ndarray) -> np.ndarray:
    genes, effect = KNOWN.rows.gene[rows], KNOWN.flags[rows, 1]
    rate = np.bincount(genes, effect, 300) / np.maximum(np.bincount(genes, minlength=300), 1)
    return np.stack((np.cos(rate * 1.5), np.sin(rate * 1.5)), axis=1)


@pytest.mark.parametrize("kind", ["loo", "folds", "test"])
@pytest.mark.parametrize("evaluated", ["demo/all", ""])
def test_a_space_from_the_same_labels_is_refused(kind: str, evaluated: str) -> None:
    rows = rows_of([100], [5]) if kind == "test" else ROWS
    with pytest.raises(InputError, match="space co-response: built from the labels of demo/all"):
        predict_priors(EvaluationProtocol(kind), rows, KNOWN, [built()], evaluated=evaluated)  # type: ignore[arg-type]


def test_a_builder_is_no_help_to_leave_one_out() -> None:
    with pytest.raises(InputError, match="protocol loo"):
        predict_priors(
            EvaluationProtocol("loo"), ROWS, KNOWN, [built(columns_from)], evaluated="demo/all"
        )


def test_other_labels_are_fine() -> None:
    assert predict_priors(
        EvaluationProtocol(), ROWS, KNOWN, [built()], evaluated="other"
    ).priors.covered.any()


def test_a_builder_sees_only_the_rows_of_its_cell() -> None:
    seen = []

    def rebuild(rows):
        seen.append(rows)
        return columns_from(rows)

    found = predict_priors(
        EvaluationProtocol(k=3), ROWS, KNOWN, [built(rebuild), NOISE], evaluated="demo/all"
    )
    parts = parts_of(EvaluationProtocol(k=3), ROWS)
    assert len(seen) == 9
    i = 123
    mine = visible_rows((int(ROWS.pert[i]), int(ROWS.gene[i])), ROWS, parts)
    assert any(np.array_equal(mine, rows) for rows in seen)
    own = Similarities(cosine_similarity([Space("", columns_from(mine)), NOISE]))
    apart = knn_priors(ROWS.take(np.array([i])), KNOWN.take(mine), own)
    assert found.priors.de[i] == pytest.approx(apart.de[0], abs=1e-12)
