"""Comparisons inside of strata: by hand, against one stratum, and on batches that would be taken for effects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu, norm

from core.base.errors import InputError
from core.features.cells.anndata_file import open_cells, summarise_counts
from core.features.cells.comparisons import Design
from core.features.cells.conditions import (
    ReadingSettings,
    compare_within,
    read_conditions,
    split_by_depth,
    strata_of_batches,
)
from core.features.cells.differential_expression import GeneChanges, compare_with_controls
from core.features.cells.groups import GroupSettings, group_cells
from tests.features.cells.conftest import WriteCells

WriteCells = WriteCells
GENES = ["A", "G", "H"]
# Batch 2 has three times the counts of G; A is mostly in batch 2, the controls mostly in batch 1, and A changes nothing.
RNG = np.random.default_rng(0)
BATCH = np.array(["1"] * 60 + ["2"] * 20 + ["1"] * 20 + ["2"] * 60)
LABELS = ["NT"] * 80 + ["A"] * 80
COUNTS = np.stack(
    [RNG.poisson(40, 160), RNG.poisson(np.where(BATCH == "2", 60, 20)), RNG.poisson(40, 160)],
    axis=1,
)
COUNTS = np.column_stack([COUNTS, 400 - COUNTS.sum(axis=1)]).astype(
    np.float32
)  # a cell has 400 counts


def changes_of(path: Path, within: tuple[str, ...]) -> GeneChanges:
    with open_cells(path) as file:
        found = compare_within(file, read_conditions(file, ReadingSettings()), within)
        counts = summarise_counts(file)
        groups = group_cells(file, found, counts.totals, GroupSettings(2))
        return compare_with_controls(file, groups, counts, design=Design(found.strata))


@pytest.fixture
def screen(cells_file: WriteCells) -> Path:
    return cells_file(COUNTS, {"gene": LABELS, "batch": BATCH.tolist()}, [*GENES, "rest"])


def test_a_batch_is_no_effect_inside_of_batches(screen: Path) -> None:
    pooled, within = changes_of(screen, ()), changes_of(screen, ("batch",))
    assert pooled.p[0, 1] < 1e-6
    assert within.p[0, 1] > 0.05
    assert abs(pooled.log2_fc[0, 1]) > 0.5
    assert abs(within.log2_fc[0, 1]) < 0.1


@pytest.mark.soak
def test_tests_are_pooled_by_van_elterens_weights(screen: Path) -> None:
    """By SciPy's rank sums in both batches: z is their sum by √(n·m / (n + m + 1)), over the root of the squared weights."""
    values = COUNTS / 400 * 1e4
    is_a = np.array(LABELS) == "A"
    total, spread = 0.0, 0.0
    for batch in ("1", "2"):
        a, control = values[is_a & (batch == BATCH), 2], values[~is_a & (batch == BATCH), 2]
        test = mannwhitneyu(a, control, use_continuity=False, method="asymptotic")
        weight = np.sqrt(len(a) * len(control) / (len(a) + len(control) + 1))
        z = np.sign(test.statistic - len(a) * len(control) / 2) * norm.isf(test.pvalue / 2)
        total, spread = total + weight * z, spread + weight**2
    assert changes_of(screen, ("batch",)).p[0, 2] == pytest.approx(
        2 * norm.sf(abs(total / np.sqrt(spread))), rel=1e-6
    )


@pytest.mark.soak
def test_cells_of_strata_without_controls_are_left_out(cells_file: WriteCells) -> None:
    path = cells_file(COUNTS, {"gene": LABELS, "batch": ["1"] * 140 + ["3"] * 20}, [*GENES, "rest"])
    with open_cells(path) as file:
        found = compare_within(file, read_conditions(file, ReadingSettings()), ("batch",))
        assert found.without_stratum == 20
        assert "in strata without controls, left out: 20 cells" in found.lines()
        assert group_cells(file, found, None, GroupSettings(2)).n_cells.tolist() == [60]
        with pytest.raises(InputError, match="within column 'lane': not in obs"):
            compare_within(file, found, ("lane",))
    path = cells_file(
        COUNTS, {"gene": LABELS, "batch": [label.lower() for label in LABELS]}, [*GENES, "rest"]
    )
    with open_cells(path) as file:
        lonely = compare_within(file, read_conditions(file, ReadingSettings()), ("batch",))
        with pytest.raises(InputError, match=r"fewer than 2 cells for 1 of 1 perturbations"):
            group_cells(file, lonely, None, GroupSettings(2, leave_out_small=True))


def test_batches_are_cut_at_quantiles_of_their_controls_depth() -> None:
    is_control = np.arange(300) < 200
    totals = np.concatenate(
        [np.arange(1, 101), np.full(50, 7), np.arange(50), np.arange(0, 200, 2)]
    ).astype(float)
    batch = np.concatenate([np.zeros(100), np.ones(100), np.zeros(50), np.full(50, -1)]).astype(
        np.intp
    )
    found = split_by_depth(batch, totals, is_control, 4)
    # batch 0 has 100 controls: two bins, cut at 50.5; batch 1 has 100 too, of which more than half are alike
    assert np.bincount(found[:100]).tolist() == [50, 50]
    assert found[200:250].tolist() == [0] * 26 + [1] * 24
    assert set(found[100:200].tolist()) == {2, 3}
    assert (found[250:] == -1).all()
    assert split_by_depth(None, totals, is_control & (totals < 8), 4) is None  # too few controls
    assert split_by_depth(batch, totals, is_control, 1) is batch


def test_batches_without_two_controls_are_no_strata() -> None:
    batch = np.array(["a", "a", "b", "b", "", ""], dtype=object)
    found = strata_of_batches(batch, np.array([True, True, True, False, True, True]))
    assert found.tolist() == [0, 0, -1, -1, -1, -1]
    assert strata_of_batches(np.array(["a", "a"], dtype=object), np.array([True, False])) is None
