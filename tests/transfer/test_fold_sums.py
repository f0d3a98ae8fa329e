"""Priors from one sparse product against those of `core.transfer.knn`, which the oracle of this folder tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.transfer import cut_priors as module
from core.transfer.cut_priors import (
    FoldSums,
    coverage_classes,
    fold_base_rates,
    fold_sums,
    permute_within,
    weight_table,
)
from core.transfer.knn import Similarities, Weighting, knn_priors
from core.transfer.row_index import Parts
from core.transfer.similarity import ConstantSimilarity, PermutedSimilarity, SimilarityMatrices
from tests.transfer.oracles import World, assert_close, worlds


@st.composite
def folds(draw: st.DrawFn) -> tuple[World, Parts]:
    """A world along its genes, and parts for all of its symbols."""
    world, n_symbols = draw(worlds()), 9
    parts = Parts(
        *(
            np.array(draw(st.lists(st.integers(0, 2), min_size=n_symbols, max_size=n_symbols)))
            for _ in range(2)
        )
    )
    return replace(
        world, weighting=replace(world.weighting, axis="gene", k=None), parts=parts
    ), parts


def sums_of(world: World, parts: Parts) -> FoldSums:
    known = world.known
    table = weight_table(world.rows, known.rows, world.similar.gene, world.weighting.powers)  # type: ignore[arg-type]
    return fold_sums(table, world.rows, known, parts)


@given(folds(), st.integers(0, 2**32))
def test_priors_are_those_of_the_knn_with_vectors_as_they_are_and_permuted(
    case: tuple[World, Parts], seed: int
) -> None:
    world, parts = case
    sums, n_symbols = sums_of(world, parts), len(world.spaces[0].columns)
    keys = np.random.default_rng(seed).random((module.BATCH + 1, n_symbols))
    plain, *permuted = sums.priors([None, *keys])
    assert_close(plain, knn_priors(world.rows, world.known, world.similar, world.weighting, parts))
    genes = sums.table.genes
    for found, each in zip(permuted, keys, strict=True):
        owner = np.arange(n_symbols)
        owner[genes] = genes[permute_within(sums.table.coverage, each[genes])]
        exchanged = Similarities(PermutedSimilarity(world.similar.gene, owner))  # type: ignore[arg-type]
        assert_close(found, knn_priors(world.rows, world.known, exchanged, world.weighting, parts))


@given(folds())
def test_base_rates_are_priors_of_equal_weights(case: tuple[World, Parts]) -> None:
    world, parts = case
    found = fold_base_rates(world.rows, world.known, parts)
    expected = knn_priors(
        world.rows, world.known, Similarities(ConstantSimilarity()), world.weighting, parts
    )
    for name in ("de", "up", "support"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_equal_in_several_chunks_and_with_similarities_that_are_not_symmetric(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CHUNK_COLUMNS", 2)
    rng = np.random.default_rng(0)
    similar = SimilarityMatrices((rng.random((8, 8)),), np.ones((1, 8), dtype=bool))
    rows = module.Rows(rng.integers(0, 8, 60), rng.integers(0, 8, 60))
    known = module.Knowledge(
        rows, np.cumprod(rng.random((60, 4)) < [1, 0.6, 1, 0.5], axis=1).astype(bool)
    )
    parts = Parts(rng.integers(0, 3, 8), rng.integers(0, 3, 8))
    [found] = fold_sums(weight_table(rows, rows, similar, (2.0, 2.0)), rows, known, parts).priors(
        [None]
    )
    assert_close(found, knn_priors(rows, known, Similarities(similar), Weighting(), parts))


@given(st.lists(st.integers(0, 3), max_size=20), st.integers(0, 2**32))
def test_a_permutation_stays_inside_classes(classes: list[int], seed: int) -> None:
    codes = np.array(classes, dtype=np.intp)
    found = permute_within(codes, np.random.default_rng(seed).random(len(codes)))
    assert sorted(found) == list(range(len(codes)))
    np.testing.assert_array_equal(codes[found], codes)


def test_every_permutation_inside_a_class_is_equally_likely() -> None:
    rng, classes = np.random.default_rng(0), np.array([0, 1, 0, 0])
    drawn = [tuple(permute_within(classes, rng.random(4))) for _ in range(6000)]
    counts = {each: drawn.count(each) for each in set(drawn)}
    assert len(counts) == 6
    assert max(abs(count - 1000) for count in counts.values()) < 5 * np.sqrt(1000 * 5 / 6)


def test_symbols_of_a_class_are_covered_by_the_same_spaces() -> None:
    covered = np.array([[True, True, False, True, False], [False, True, False, True, False]])
    codes = coverage_classes(covered)
    assert [codes[1] == codes[3], codes[2] == codes[4], len(set(codes))] == [True, True, 3]
