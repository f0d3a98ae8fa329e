"""Replicates of a perturbation: their pseudobulks by hand, and p-values of clones that differ."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma

from core.features.cells.replicates import (
    CellGroup,
    build_replicates,
    find_kind,
    moderate_variances,
    variance_of_cells,
)

# Four controls and six cells of A; guides 0 and 1 of A, 2 and 3 of the controls; batch 1 has twice the counts.
CONTROL, A = np.arange(4), np.arange(4, 10)
GUIDE = np.array([2, 2, 3, 3, 0, 0, 0, 1, 1, 1])
BATCH = np.array([0, 1, 0, 1, 0, 0, 1, 1, 1, 1])
VALUES = np.array([4, 8, 6, 12, 5, 5, 10, 20, 20, 20], dtype=np.float32)[:, None]


def test_a_guide_is_compared_with_controls_of_its_batches() -> None:
    found = build_replicates("guide", [CellGroup(A, CONTROL)], GUIDE, BATCH)
    # guide 0: cells 5, 5, 10, mean 20/3; controls are 5 in batch 0 and 10 in batch 1, so (5 + 5 + 10) / 3: no change
    # guide 1: three cells of 20 in batch 1, where controls have 10: twice
    changes = found.changes(VALUES, 1e9)  # so many counts that a quarter of one is nothing
    np.testing.assert_allclose(changes[:, 0], [0, 2 / np.log(2) * (np.sqrt(2) - 1)], atol=1e-6)
    np.testing.assert_allclose(found.members.data, [0.5, 0.5])
    np.testing.assert_allclose(found.group_changes(changes)[0], changes.mean(axis=0))
    # its own: 2 · (1/2)²; two guides of the controls with half of the cells each: (1/2)² + (1/2)²
    np.testing.assert_allclose(found.own, [1.0])
    # cells: (1/2)² / 3 of both guides; of the controls, 2 in each batch, of shares (2/3 + 0) / 2 and (1/3 + 1) / 2
    np.testing.assert_allclose(found.sampling, [2 / 4 / 3 + (1 / 3) ** 2 / 2 + (2 / 3) ** 2 / 2])
    assert found.degrees == 1


def test_cells_without_controls_or_guides_take_no_part() -> None:
    found = build_replicates("guide", [CellGroup(A, CONTROL[BATCH[CONTROL] == 1])], GUIDE, BATCH)
    assert found.n_cells.tolist() == [
        3
    ]  # guide 0 has one cell in batch 1, fewer than a pseudobulk needs
    nobody = build_replicates("guide", [CellGroup(A, CONTROL)], np.full(10, -1), BATCH)
    assert np.isnan(nobody.group_changes(nobody.changes(VALUES, 1e9))).all()


@pytest.mark.parametrize(
    ("guide", "batch", "kind"),
    [
        (
            np.tile(np.arange(3), 20),
            np.tile(np.arange(3), 20),
            "guide",
        ),  # three of A, three of the controls
        (
            np.zeros(60, dtype=int),
            np.repeat(np.tile(np.arange(5), 4), 3),
            "batch",
        ),  # one guide, five batches
        (None, np.repeat(np.tile(np.arange(5), 4), 3), "batch"),
        (
            np.arange(60),
            np.repeat(np.tile(np.arange(2), 10), 3),
            None,
        ),  # a guide in each cell, two batches
        (np.full(60, -1), None, None),
    ],
)
def test_what_replicates_are(
    guide: np.ndarray | None, batch: np.ndarray | None, kind: str | None
) -> None:
    assert find_kind(np.repeat([-1, 0], 30), guide, batch) == kind


@pytest.mark.soak
@pytest.mark.parametrize("clone_sd", [0.0, 0.3])
def test_p_values_of_clones_are_even(clone_sd: float) -> None:
    """30 perturbations of three guides, 20 cells each, and six guides of the controls; nothing changes but by the clone."""
    rng = np.random.default_rng(1)
    n_perts, n_genes = 30, 400
    group = np.concatenate([np.full(180, n_perts), np.repeat(np.arange(n_perts), 60)])
    guide = np.concatenate(
        [np.repeat(np.arange(6), 30), np.repeat(np.arange(6, 6 + 3 * n_perts), 20)]
    )
    mean = (
        rng.lognormal(0.5, 1, n_genes)
        * np.exp(rng.normal(0, clone_sd, (guide.max() + 1, n_genes)))[guide]
    )
    values = rng.poisson(mean * rng.gamma(1 / 0.15, 0.15, mean.shape)).astype(np.float32)
    control = np.flatnonzero(group == n_perts)
    groups = [CellGroup(np.flatnonzero(group == i), control) for i in range(n_perts + 1)]
    replicates = build_replicates("guide", groups, guide, None)
    changes = replicates.changes(values, 1.0)
    variance = replicates.moderate(
        replicates.squares(changes),
        variance_of_cells(values[control], None, 1.0),
        values[control].mean(axis=0),
    )
    p = variance.p_values(replicates.group_changes(changes), replicates)[:n_perts]
    assert 0.03 < (p < 0.05).mean() < 0.07
    assert (p < 0.001).mean() < 0.004


@pytest.mark.parametrize(("degrees", "prior_degrees"), [(4.0, 6.0), (20.0, 10.0)])
def test_the_prior_is_found(degrees: float, prior_degrees: float) -> None:
    """Variances are drawn as limma has them: the true ones 0.04 · d0 / χ²(d0), the estimates these · χ²(d) / d."""
    rng = np.random.default_rng(0)
    true = 0.04 * prior_degrees / rng.chisquare(prior_degrees, 20_000)
    found, added = moderate_variances(true * rng.chisquare(degrees, len(true)) / degrees, degrees)
    assert added == pytest.approx(prior_degrees, rel=0.1)
    assert np.mean((np.log(found) - np.log(true)) ** 2) < np.mean(
        np.log(rng.chisquare(degrees, len(true)) / degrees) ** 2
    )


def test_equal_variances_have_all_of_the_prior() -> None:
    found, added = moderate_variances(np.array([2.0, 2.0, 2.0, np.nan]), 4.0)
    assert added == 1e6
    np.testing.assert_allclose(
        found, 2 * 2 / np.exp(digamma(2)), rtol=1e-4
    )  # the bias of logarithms of χ² is taken away


def test_two_variances_stay_as_they_are() -> None:
    found, added = moderate_variances(np.array([1.0, 3.0]), 4.0)
    assert (found.tolist(), added) == ([1.0, 3.0], 0.0)
