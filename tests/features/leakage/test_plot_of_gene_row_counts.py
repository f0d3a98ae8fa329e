"""Rows per gene against effects, and their table."""

from __future__ import annotations

import numpy as np
import pytest

from core.features.leakage.plots import gene_row_counts

# x and y have one row, z has two.
LABELS = ["none", "none", "up", "de"]
GENES = list("xyzz")
TABLE = gene_row_counts.table(LABELS, GENES)


def test_table_by_hand() -> None:
    table = gene_row_counts.table(LABELS, GENES)
    counts = table[["rows_per_gene", "genes", "rows", "with_effect"]].to_numpy().tolist()
    assert counts == [["1", 2, 2, 0], ["2", 1, 2, 2]]
    assert table["share_de"].tolist() == [0, 1]
    # Wilson for 0 of 2, z² = 3.8415: from 0 to z² / (2 + z²) = .6576; for 2 of 2 the mirror image.
    assert table[["low", "high"]].to_numpy() == pytest.approx(
        np.array([[0, 0.6576], [0.3424, 1]]), abs=1e-4
    )


def test_genes_of_many_rows_are_counted_together() -> None:
    genes = ["a"] * 20 + ["b"] * 31 + ["c"] * 19
    table = gene_row_counts.table(["up"] * 70, genes)
    assert table[["rows_per_gene", "genes", "rows"]].to_numpy().tolist() == [
        ["19", 1, 19],
        ["20+", 2, 51],
    ]


def test_shares_with_whiskers_beside_the_overall_share() -> None:
    chart = gene_row_counts.figure(gene_row_counts.table(LABELS, GENES))
    dots = chart.data[0]
    assert list(dots.x) == [0, 1]
    assert list(chart.layout.yaxis.ticktext) == ["1", "2"]
    np.testing.assert_allclose(dots.error_x.array, [0.6576, 0], atol=1e-4)
    np.testing.assert_allclose(dots.error_x.arrayminus, [0, 0.6576], atol=1e-4)
    assert [shape.x0 for shape in chart.layout.shapes] == [0.5]  # two of four rows
