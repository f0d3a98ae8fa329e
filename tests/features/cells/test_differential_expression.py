"""Rank sums, fold changes and FDRs against SciPy, backed and in memory, in one part and in many."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import false_discovery_control, mannwhitneyu

from core.base.errors import MissingPackage
from core.features.cells import differential_expression as de
from core.features.cells.anndata_file import open_cells, summarise_counts
from core.features.cells.cell_formats import import_package
from core.features.cells.comparisons import log2_fold_change
from core.features.cells.conditions import ReadingSettings, read_conditions
from core.features.cells.differential_expression import (
    RANK_SUM,
    GeneChanges,
    compare_with_controls,
    rank_sum_tests,
)
from core.features.cells.groups import CellGroups, GroupSettings, group_cells
from tests.features.cells.conftest import WriteCells

N_GENES = 50


def changes_of(path: Path) -> tuple[GeneChanges, CellGroups]:
    with open_cells(path) as file:
        counts = summarise_counts(file)
        groups = group_cells(
            file, read_conditions(file, ReadingSettings()), counts.totals, GroupSettings()
        )
        return compare_with_controls(file, groups, counts), groups


def normalised(path: Path) -> np.ndarray:
    """Counts per 10,000 of a sparse file, float32 as in the comparison."""
    import anndata

    counts = anndata.read_h5ad(path).X.toarray().astype(np.float64)
    return (counts * (10_000 / counts.sum(axis=1, keepdims=True)).astype(np.float32)).astype(
        np.float32
    )


@pytest.mark.soak
def test_p_values_equal_scipys_on_fifty_genes(screen_file: WriteCells) -> None:
    path = screen_file(n_genes=N_GENES, n_perturbations=3, n_cells=400)
    changes, groups = changes_of(path)
    values = normalised(path)
    control = values[groups.of_cell == -1]
    for i in range(3):
        cells = values[groups.of_cell == i]
        # Of float32, SciPy computes in float32.
        cells, control = cells.astype(float), control.astype(float)
        expected = mannwhitneyu(
            cells, control, axis=0, use_continuity=False, method="asymptotic"
        ).pvalue
        assert changes.p[i] == pytest.approx(expected, rel=1e-12)
        assert changes.fdr[i] == pytest.approx(false_discovery_control(expected), rel=1e-12)
        assert changes.log2_fc[i] == pytest.approx(
            np.log2(cells.mean(axis=0) / control.mean(axis=0)), abs=1e-4
        )


def test_rarely_expressed_genes_are_not_taken_for_whole_numbers() -> None:
    """pdex's own choice of a kernel may miss the few values that are no whole numbers among so many zeros."""
    rng = np.random.default_rng(0)
    cells, reference = (np.zeros((300, 200), dtype=np.float32) for _ in range(2))
    cells[:40, 0] = rng.uniform(0.1, 0.9, 40)
    reference[:10, 0] = rng.uniform(0.1, 0.9, 10)
    p, _ = rank_sum_tests(import_package(RANK_SUM), cells, reference)
    # Of float32, SciPy computes in float32: right to some 1e-6, more or less by the processor.
    expected = mannwhitneyu(
        cells[:, 0].astype(float),
        reference[:, 0].astype(float),
        use_continuity=False,
        method="asymptotic",
    ).pvalue
    assert p[0] == pytest.approx(expected, rel=1e-12)
    assert expected < 0.001
    assert np.isnan(p[1:]).all()  # nobody expresses these


@pytest.mark.soak
def test_parts_do_not_change_the_result(
    screen_file: WriteCells, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = screen_file()
    (whole, _) = changes_of(path)
    monkeypatch.setattr(de, "VALUES_IN_MEMORY", 20_000)  # about 17 genes of 1,200 values
    monkeypatch.setattr(de, "DENSE_VALUES", 7_500)  # 5 genes of 1,500 cells
    monkeypatch.setattr("core.features.cells.anndata_file.BLOCK_VALUES", 8_000)  # 100 cells
    (parts, _) = changes_of(path)
    np.testing.assert_array_equal(whole.p, parts.p)
    np.testing.assert_allclose(whole.log2_fc, parts.log2_fc, rtol=1e-6)
    assert [(each.target, each.guide, each.n_cells) for each in whole.guides] == [
        (each.target, each.guide, each.n_cells) for each in parts.guides
    ]


def test_a_node_without_the_packages_of_cells_names_their_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in ("numba", "pdex", "pdex._parallel"):
        monkeypatch.setitem(sys.modules, module, None)
    cells = np.zeros((2, 3), dtype=np.float32)
    with pytest.raises(
        MissingPackage, match=r"the package pdex, which is not installed: .*requirements-cells\.txt"
    ):
        de.compare_on_one_processor(cells, cells)


def test_fold_changes_by_hand() -> None:
    found = log2_fold_change(
        np.array([4.0, 1.0, 0.0, 3.0, 0.0]), np.array([1.0, 4.0, 2.0, 0.0, 0.0])
    )
    assert found[:2].tolist() == [2, -2]
    assert found[2:4].tolist() == pytest.approx(
        [-4.321928, 4.321928]
    )  # log2(20), where one of both is 0
    assert np.isnan(found[4])


@pytest.mark.soak
def test_every_guide_of_a_target_is_measured(screen_file: WriteCells) -> None:
    path = screen_file(n_cells=900, n_perturbations=4)
    changes, groups = changes_of(path)
    with open_cells(path) as file:
        values, position = normalised(path), {gene: i for i, gene in enumerate(file.genes)}
    assert groups.guides is not None
    for each in changes.guides:
        cells = groups.of_cell == groups.targets.index(each.target)
        if each.guide:
            cells &= groups.guides == each.guide
        assert each.n_cells == cells.sum()
        assert each.mean == pytest.approx(values[cells, position[each.target]].mean(), rel=1e-5)
    assert len([each for each in changes.guides if each.guide == ""]) == 4
    assert len(changes.guides) == 16  # three guides each
