"""The probe inside genes and perturbations against loops, and on spaces that have and have not seen labels."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.features.leakage import space_probe
from core.features.leakage.space_probe import (
    WithinProbe,
    column_scores,
    probe_within,
    similarity_contrasts,
)
from core.features.leakage.unit_rows import UnitRows
from core.stats.arrays import Codes, Floats


def unit(vectors: np.ndarray) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def probed(rows: UnitRows, vectors: Floats, seed: int = 0, permutations: int = 10) -> WithinProbe:
    return probe_within("DIR", rows, vectors, np.random.default_rng(seed), permutations)


def test_contrasts_by_hand() -> None:
    # one perturbation; the vectors of genes 0 and 1 are equal, that of gene 2 is at a right angle; 0 and 2 are positive
    vectors = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    positive, pert, gene = np.array([True, False, True]), np.zeros(3, dtype=int), np.arange(3)
    # row 0: cosine 0 to row 2, 1 to row 1. Row 1: mean of 1 and 0, but no other negative row. Row 2: 0 and 0
    found = similarity_contrasts(positive, pert, gene, vectors)
    assert found[[0, 2]].tolist() == [-1.0, 0.0]
    assert math.isnan(found[1])


@st.composite
def screens(draw: st.DrawFn) -> tuple[np.ndarray, Codes, Codes, Floats]:
    n = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    vectors = unit(rng.normal(size=(8, 3)))
    return (
        rng.random(n) < draw(st.floats(0.1, 0.9)),
        rng.integers(0, 5, n),
        rng.integers(0, 8, n),
        vectors,
    )


def contrasts_by_loop(positive: np.ndarray, pert: Codes, gene: Codes, vectors: Floats) -> Floats:
    found = np.full(len(pert), np.nan)
    for i in range(len(pert)):
        cosines: dict[bool, list[float]] = {True: [], False: []}
        for j in range(len(pert)):
            if j != i and pert[j] == pert[i]:
                cosines[bool(positive[j])].append(float(vectors[gene[i]] @ vectors[gene[j]]))
        if cosines[True] and cosines[False]:
            found[i] = np.mean(cosines[True]) - np.mean(cosines[False])
    return found


@given(screens(), st.integers(1, 40))
def test_contrasts_equal_those_of_a_loop_in_blocks_of_any_size(
    made: tuple[np.ndarray, Codes, Codes, Floats], at_once: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(space_probe, "_PRODUCTS_AT_ONCE", at_once)
        found = similarity_contrasts(*made)
    np.testing.assert_allclose(found, contrasts_by_loop(*made), atol=1e-12)


def columns_by_loop(positive: np.ndarray, columns: Floats) -> Floats:
    """Scores of one group: of each row, from the column that correlates most with the labels of the others."""
    label, n = positive.astype(float), len(positive)
    scores = np.empty(n)
    for i in range(n):
        others = np.arange(n) != i
        correlations = [np.corrcoef(column[others], label[others])[0, 1] for column in columns.T]
        best = int(np.abs(correlations).argmax())
        of_others = columns[others, best]
        scores[i] = (
            np.sign(correlations[best]) * (columns[i, best] - of_others.mean()) / of_others.std()
        )
    return scores - scores.mean()


def test_columns_equal_those_of_a_loop() -> None:
    rng = np.random.default_rng(2)
    positive, columns = np.arange(12) % 3 == 0, rng.normal(size=(12, 5))
    columns[:, 3] += 2 * positive
    group = np.zeros(12, dtype=int)
    np.testing.assert_allclose(
        column_scores(positive, group, np.arange(12), columns),
        columns_by_loop(positive, columns),
        atol=1e-9,
    )
    # a group of seven rows, and one with a single positive row, say too little
    assert np.isnan(column_scores(positive[:7], group[:7], np.arange(7), columns)).all()
    assert np.isnan(column_scores(np.arange(12) == 0, group, np.arange(12), columns)).all()


def screen(rows_per_pert: int = 20) -> UnitRows:
    """40 perturbations of genes among 120; units are genes."""
    rng = np.random.default_rng(3)
    pert, gene = np.array(
        [(p, g) for p in range(40) for g in rng.choice(120, rows_per_pert, replace=False)]
    ).T
    return UnitRows(rng.random(len(pert)) < 0.6, gene, pert)


SCREEN = screen()


def label_matrix(noise: float = 0.0) -> Floats:
    """Genes × perturbations: 1 for up, -1 for down."""
    matrix = noise * np.random.default_rng(1).normal(size=(120, 40))
    matrix[SCREEN.unit, SCREEN.other] += np.where(SCREEN.positive, 1.0, -1.0)
    return matrix


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_a_matrix_of_labels_has_seen_them(noise: float) -> None:
    found = probed(SCREEN, label_matrix(noise))
    assert found.has_seen_labels
    similarity, column = found.scores
    assert (similarity.kind, column.kind) == ("similarity", "column")
    assert min(similarity.value, column.value) > 0.8
    assert similarity.excess > 5


@pytest.mark.parametrize(
    "vectors", [np.random.default_rng(4).normal(size=(120, 16)), np.tile([[0.6, 0.8]], (120, 1))]
)
def test_noise_and_equal_vectors_have_not(vectors: Floats) -> None:
    found = probed(SCREEN, vectors)
    assert abs(found.cosine - 0.5) < 0.06
    assert abs(found.scores[0].in_units - 0.5) < 0.06
    assert not found.has_seen_labels
    assert math.isnan(found.scores[0].excess)  # below the limit nothing is permuted


def test_a_space_that_knows_which_genes_always_respond_has_not() -> None:
    """Genes differ in how often they respond, and the space has the responsive ones together, as a network does."""
    rng = np.random.default_rng(5)
    rate = rng.choice([0.02, 0.6], 150, p=[0.8, 0.2])
    pert, gene = (
        axis.ravel() for axis in np.meshgrid(np.arange(80), np.arange(150), indexing="ij")
    )
    vectors = np.stack([rate > 0.1, rate < 0.1], axis=1) + rng.normal(scale=0.3, size=(150, 2))
    found = probed(UnitRows(rng.random(len(gene)) < rate[gene], gene, pert), vectors)
    assert found.cosine > 0.8
    assert abs(found.scores[0].in_units - 0.5) < 0.05
    assert not found.has_seen_labels


def test_few_rows_are_not_enough_for_a_finding() -> None:
    """Four rows are ranked perfectly."""
    rows = UnitRows(np.array([True, True, False, False]), np.arange(4), np.zeros(4, dtype=int))
    found = probed(rows, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    assert found.cosine == 1.0
    assert not found.has_seen_labels


def test_units_without_a_vector_do_not_count() -> None:
    vectors = label_matrix()
    vectors[::3] = np.nan
    some = probed(SCREEN, vectors)
    assert some == probed(SCREEN.take(SCREEN.unit % 3 > 0), vectors)
    assert some.n < len(SCREEN)
    assert probed(SCREEN, np.full((120, 3), np.nan)) == WithinProbe()


def test_the_null_is_that_of_its_seed_and_can_be_left_out() -> None:
    first, again, other = (probed(SCREEN, label_matrix(), seed).scores[0] for seed in (0, 0, 1))
    assert first == again
    assert first.excess != other.excess
    without = probed(SCREEN, label_matrix(), permutations=0).scores[0]
    assert without.reaches_limit
    assert not without.has_seen_labels
