"""Features of genes: the same for genes that vary alike, whether or not they were targets."""

from __future__ import annotations

import numpy as np

from core.target_ranking.expression import ExpressionSet
from core.target_ranking.models.transformer import N_COMPONENTS, make_gene_features


def test_features_are_standardised_and_equal_for_genes_that_vary_alike() -> None:
    rng = np.random.default_rng(0)
    x = rng.gamma(1, 1, (80, 40)).astype(np.float32)
    x[:, 1] = x[:, 0]
    genes = tuple(f"G{i}" for i in range(40))
    features = make_gene_features(ExpressionSet(x, genes, np.array(["ctrl"] * 80), np.array(["x"] * 80)), seed=0)
    assert features.shape == (40, N_COMPONENTS + 2)
    np.testing.assert_allclose(features[0], features[1], atol=1e-3)
    np.testing.assert_allclose(features[:, :-1].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(features[:, :-1].std(axis=0), 1, atol=1e-5)
    # every gene is expressed in every cell, so the last column says nothing
    assert not features[:, -1].any()


def test_a_gene_that_never_varies_has_finite_features() -> None:
    x = np.ones((10, 4), dtype=np.float32)
    x[:, 1] = np.arange(10)
    features = make_gene_features(ExpressionSet(x, ("A", "B", "C", "D"), np.array(["ctrl"] * 10), np.array(["x"] * 10)), seed=0)
    assert np.isfinite(features).all()
