"""Bins of expression, by hand."""

from __future__ import annotations

import numpy as np

from core.target_ranking.models.network import bin_expression


def test_bins_by_rank_among_the_expressed_genes() -> None:
    x = np.array([[0, 1, 2, 3, 4], [0, 5, 5, 0, 5], [0, 0, 0, 0, 0]], dtype=np.float32)
    # Four expressed genes in four bins; three equal ones share the middle, (2 - 0.5) / 3 · 4 = 2 → bin 3; nothing expressed: 0
    assert bin_expression(x, n_bins=5).tolist() == [[0, 1, 2, 3, 4], [0, 3, 3, 0, 3], [0, 0, 0, 0, 0]]


def test_depth_changes_no_bin_and_bins_stay_within_their_number() -> None:
    x = np.random.default_rng(0).gamma(1, 1, (20, 300)).astype(np.float32)
    bins = bin_expression(x)
    assert (bins == bin_expression(2 * x)).all()
    assert (bins.min(), bins.max()) == (1, 50)
    # Of 300 genes, 6 in each of 50 bins
    assert (np.bincount(bins[0], minlength=51)[1:] == 6).all()
