"""The probe of a gene space against loops, and on spaces that do and do not repeat labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stats import space_probe
from core.stats.arrays import Codes, Floats
from core.stats.space_probe import SpaceProbe, probe_space, similarity_contrasts

Labels = np.ndarray


def unit(vectors: np.ndarray) -> Floats:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def probed(labels: Labels, pert: Codes, gene: Codes, vectors: Floats, seed: int = 0) -> SpaceProbe:
    return probe_space(labels, pert, gene, vectors, np.random.default_rng(seed))


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
    return rng.random(n) < draw(st.floats(0.1, 0.9)), rng.integers(0, 5, n), rng.integers(0, 8, n), vectors


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


@given(screens())
def test_the_value_counts_pairs_inside_perturbations(made: tuple[np.ndarray, Codes, Codes, Floats]) -> None:
    positive, pert, gene, vectors = made
    contrast = np.round(contrasts_by_loop(*made), 12)
    won, pairs = 0.0, 0
    for i in np.flatnonzero(positive & ~np.isnan(contrast)):
        for j in np.flatnonzero(~positive & ~np.isnan(contrast) & (pert == pert[i])):
            won += 0.5 if contrast[i] == contrast[j] else float(contrast[i] > contrast[j])
            pairs += 1
    value = probed(np.where(positive, "de", "none"), pert, gene, vectors).de.value
    assert value == pytest.approx(won / pairs, abs=1e-12) if pairs else math.isnan(value)


@dataclass(frozen=True)
class Screen:
    labels: Labels
    pert: Codes
    gene: Codes

    def label_matrix(self) -> Floats:
        """Genes × perturbations: 1 for up, -1 for down, a little of neither for none."""
        matrix = np.full((self.gene.max() + 1, self.pert.max() + 1), 1e-3)
        matrix[self.gene, self.pert] = np.select([self.labels == "up", self.labels == "down"], [1.0, -1.0], 1e-3)
        return unit(matrix)


def random_screen(rows_per_pert: int = 20) -> Screen:
    rng = np.random.default_rng(3)
    pairs = [(p, g) for p in range(40) for g in rng.choice(120, rows_per_pert, replace=False)]
    pert, gene = np.array(pairs).T
    return Screen(rng.choice(["up", "down", "none"], len(pairs), p=[0.3, 0.2, 0.5]), pert, gene)


SCREEN = random_screen()


def test_a_space_built_from_the_labels_repeats_them() -> None:
    found = probed(SCREEN.labels, SCREEN.pert, SCREEN.gene, SCREEN.label_matrix())
    assert found.dir.value > 0.95
    assert found.dir.rate_matched > 0.95
    assert found.dir.excess > 5
    assert abs(found.dir.null_mean - 0.5) < 0.1
    assert found.repeats_labels


def test_a_space_without_labels_does_not() -> None:
    vectors = unit(np.random.default_rng(4).normal(size=(120, 16)))
    found = probed(SCREEN.labels, SCREEN.pert, SCREEN.gene, vectors)
    assert abs(found.de.value - 0.5) < 0.06
    assert abs(found.dir.value - 0.5) < 0.1
    assert not found.repeats_labels
    assert math.isnan(found.de.null_mean)  # below the limit nothing is permuted


def test_equal_vectors_score_a_half() -> None:
    found = probed(SCREEN.labels, SCREEN.pert, SCREEN.gene, np.tile([[0.6, 0.8]], (120, 1)))
    assert (found.de.value, found.dir.value) == (0.5, 0.5)


def test_a_space_that_knows_which_genes_always_respond_repeats_no_label() -> None:
    """Genes differ in how often they respond, and the space has the responsive ones together, as a network does."""
    rng = np.random.default_rng(5)
    rate = rng.choice([0.02, 0.6], 150, p=[0.8, 0.2])
    pert, gene = (axis.ravel() for axis in np.meshgrid(np.arange(80), np.arange(150), indexing="ij"))
    labels = np.where(rng.random(len(gene)) < rate[gene], "de", "none")
    vectors = unit(np.stack([rate > 0.1, rate < 0.1], axis=1) + rng.normal(scale=0.3, size=(150, 2)))
    found = probed(labels, pert, gene, vectors).de
    assert found.value > 0.8
    assert abs(found.rate_matched - 0.5) < 0.05
    assert not found.repeats_labels


def test_few_rows_are_not_enough_for_a_finding() -> None:
    """Four rows are ranked perfectly, and so they are after many permutations."""
    labels, vectors = np.array(["up", "up", "down", "down"]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    found = probed(labels, np.zeros(4, dtype=int), np.arange(4), vectors)
    assert found.dir.value == 1.0
    assert found.dir.excess < 5
    assert not found.repeats_labels


def test_genes_without_a_vector_and_rows_without_a_label_do_not_count() -> None:
    keep = (SCREEN.gene % 3 > 0) & (np.arange(len(SCREEN.gene)) % 7 > 0)
    vectors = SCREEN.label_matrix()
    labels = np.where(np.arange(len(SCREEN.gene)) % 7 > 0, SCREEN.labels, None)
    some = probed(labels, SCREEN.pert, np.where(SCREEN.gene % 3 > 0, SCREEN.gene, -1), vectors)
    assert some == probed(SCREEN.labels[keep], SCREEN.pert[keep], SCREEN.gene[keep], vectors)
    assert some.de.n < len(SCREEN.gene)


def test_labels_of_one_task_leave_the_other_undefined() -> None:
    directions = SCREEN.labels != "none"
    found = probed(SCREEN.labels[directions], SCREEN.pert[directions], SCREEN.gene[directions], SCREEN.label_matrix())
    assert (math.isnan(found.de.value), found.de.n) == (True, 0)
    assert found.dir.repeats_labels
    nothing = probed(np.array([None] * 3), np.arange(3), np.arange(3), np.eye(3))
    assert math.isnan(nothing.de.value)
    assert not nothing.repeats_labels


def test_the_same_seed_gives_the_same_null() -> None:
    arguments = (SCREEN.labels, SCREEN.pert, SCREEN.gene, SCREEN.label_matrix())
    assert probed(*arguments) == probed(*arguments)
    assert probed(*arguments).dir.null_mean != probed(*arguments, seed=1).dir.null_mean
