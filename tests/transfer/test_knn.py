from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from core.base.errors import InputError
from core.transfer import knn
from core.transfer.knn import Priors, Similarities, Weighting, knn_priors
from core.transfer.row_index import Parts, knowledge_of, rows_of
from core.transfer.similarity import ConstantSimilarity, SimilarityMatrices, Space
from tests.transfer.oracles import World, oracle, some_space, worlds


def found(world: World) -> Priors:
    return knn_priors(world.rows, world.known, world.similar, world.weighting, world.parts)


def assert_equal_to_oracle(world: World) -> None:
    ours, (de, up, support) = found(world), oracle(world)
    np.testing.assert_allclose(ours.de, de, atol=1e-9)
    np.testing.assert_allclose(ours.up, up, atol=1e-9)
    np.testing.assert_allclose(ours.support, support, atol=1e-9)


@given(worlds())
def test_equal_to_rows_against_rows(world: World) -> None:
    assert_equal_to_oracle(world)


@given(worlds())
def test_equal_whatever_the_chunks_and_the_blocks(world: World) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knn, "CHUNK_WEIGHTS", 5)  # a chunk of one or two genes
        patch.setattr(knn, "STRETCH_ROWS", 3)  # a group or two
        patch.setattr(knn, "GATHER_COST", 0)  # every group is subtracted
        assert_equal_to_oracle(world)
        patch.setattr(knn, "GATHER_COST", 10**6)  # none is
        assert_equal_to_oracle(world)


@pytest.mark.soak
@pytest.mark.parametrize("axis", ["gene", "pert", "both"])
@pytest.mark.parametrize(
    ("k", "n_parts"),
    [
        (None, 5),
        (7, 80),
        *(pytest.param(*each, marks=pytest.mark.soak) for each in [(None, 80), (7, 5)]),
    ],
)
def test_equal_on_a_larger_table(axis: str, k: int | None, n_parts: int) -> None:
    rng = np.random.default_rng(3)
    rows = rows_of(rng.integers(0, 80, 900), rng.integers(0, 80, 900))
    labels = rng.choice(np.array(["up", "down", "none"], dtype=object), 900)
    spaces = tuple(
        Space(str(n), np.where(rng.random((80, 1)) < 0.8, rng.normal(size=(80, n)), np.nan))
        for n in (12, 5)
    )
    parts = Parts(rng.permutation(80) % n_parts, rng.permutation(80) % n_parts)
    assert_equal_to_oracle(World(rows, labels, spaces, parts, Weighting(k=k, axis=axis)))  # type: ignore[arg-type]


def test_by_hand() -> None:
    # gene 0 is like gene 1 (0.5) and gene 2 (1.0); power 2: weights 0.25 and 1
    similarity = SimilarityMatrices(
        (np.array([[1, 0.5, 1.0], [0.5, 1, 0], [1.0, 0, 1]]),), np.ones((1, 3), dtype=bool)
    )
    known = knowledge_of(["up", "none", "down"], rows_of([0, 1, 2], [1, 1, 2]))
    ours = knn_priors(rows_of([9], [0]), known, Similarities(gene=similarity))
    # Σw = 0.25 + 0.25 + 1; effect 0.25 + 1, of which up 0.25
    assert (ours.de[0], ours.up[0], ours.support[0]) == pytest.approx(
        (1.25 / 1.5, 0.25 / 1.25, 1.5)
    )


def test_nothing_left_is_nan_and_never_a_rounding_error() -> None:
    """All that is like gene 0 belongs to the row's own perturbation: 0.1 + 0.2 less 0.1 + 0.2 must not leave 1e-17."""
    rng = np.random.default_rng(0)
    matrix = rng.random((30, 30))
    rows = rows_of(np.zeros(29, dtype=int), np.arange(1, 30))
    alone = np.arange(30)
    known = knowledge_of(rng.choice(["up", "down"], 29), rows)
    similar = Similarities(gene=SimilarityMatrices((matrix,), np.ones((1, 30), dtype=bool)))
    ours = knn_priors(rows_of([0], [0]), known, similar, parts=Parts(alone, alone))
    assert np.isnan([ours.de[0], ours.up[0]]).all()
    assert ours.support[0] == 0.0


def test_nearly_nothing_left_is_exact() -> None:
    """One row of weight 1e-16 beside many of weight 1 that are subtracted."""
    matrix = np.ones((30, 30))
    matrix[0, 1] = 1e-8
    rows = rows_of(np.r_[1, np.zeros(28, dtype=int)], np.arange(1, 30))
    labels = ["up"] + ["down"] * 28
    alone = np.arange(30)
    similar = Similarities(gene=SimilarityMatrices((matrix,), np.ones((1, 30), dtype=bool)))
    ours = knn_priors(
        rows_of([0], [0]), knowledge_of(labels, rows), similar, parts=Parts(alone, alone)
    )
    assert (ours.de[0], ours.up[0]) == (1.0, 1.0)
    assert ours.support[0] == pytest.approx(1e-16, rel=1e-9)


def test_neighbours_level_with_the_last_are_kept() -> None:
    similarity = SimilarityMatrices(
        (np.array([[1, 0.5, 0.5, 0.1]] * 4),), np.ones((1, 4), dtype=bool)
    )
    known = knowledge_of(["up", "down", "none"], rows_of([1, 2, 3], [1, 2, 3]))
    ours = knn_priors(rows_of([0], [0]), known, Similarities(gene=similarity), Weighting(k=1))
    assert (ours.de[0], ours.up[0], ours.support[0]) == pytest.approx((1.0, 0.5, 0.5))


@given(worlds())
def test_masking_is_leaving_rows_out(world: World) -> None:
    """The first row's prior from all rows, masked, is its prior from a knowledge base without the rows it may not see."""
    if world.parts is None:
        return
    parts, rows = world.parts, world.rows
    visible = (parts.pert[rows.pert] != parts.pert[rows.pert[0]]) & (
        parts.gene[rows.gene] != parts.gene[rows.gene[0]]
    )
    left = replace(world.keep(visible), parts=None)
    apart = knn_priors(rows.take(np.array([0])), left.known, left.similar, left.weighting)
    ours = found(world)
    np.testing.assert_allclose([ours.de[0], ours.up[0]], [apart.de[0], apart.up[0]], atol=1e-9)


def test_an_empty_knowledge_base_says_nothing() -> None:
    rows = rows_of([0, 1], [0, 1])
    ours = knn_priors(
        rows,
        knowledge_of([None, None], rows),
        Similarities(gene=ConstantSimilarity()),
        Weighting(k=2),
    )
    assert np.isnan(ours.de).all()
    assert not ours.covered.any()


@pytest.mark.parametrize("axis", ["gene", "both"])
def test_no_queries_give_no_priors(axis: str) -> None:
    similar, nobody = (
        Similarities(ConstantSimilarity(), ConstantSimilarity()),
        np.zeros(0, dtype=np.intp),
    )
    weighting = Weighting(axis=axis)  # type: ignore[arg-type]
    assert (
        len(
            knn_priors(
                rows_of(nobody, nobody), knowledge_of(["up"], rows_of([0], [0])), similar, weighting
            )
        )
        == 0
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Weighting(power=0), "power: got 0"),
        (lambda: Weighting(k=0), "k: got 0"),
        (lambda: rows_of([0.5], [1]), "pert: got an array of float64"),
        (lambda: rows_of([-1], [1]), "pert: row 0: got -1"),
        (lambda: rows_of([1, 2], [1]), "different lengths"),
        (
            lambda: knn_priors(
                rows_of([0], [0]), knowledge_of(["up"], rows_of([0], [0])), Similarities()
            ),
            "none for the gene axis",
        ),
    ],
)
def test_refused(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


def test_a_space_of_the_helper_has_gaps() -> None:
    """The strategy above really makes partial coverage."""
    assert np.isnan(some_space(np.random.default_rng(0), 50, 2).columns).any()
