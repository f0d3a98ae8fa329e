"""What a gene is to the transformer scorer, for genes with and without a training perturbation alike: how it varies with others.

A learned vector for each gene would hold, for genes that were never targets, only that they were never targets.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.target_ranking.expression import ExpressionSet

N_COMPONENTS: Final = 32


def make_gene_features(train: ExpressionSet, seed: int) -> NDArray[np.float32]:
    """Returns features of shape (n_genes, n_features): loadings on the first principal components of the training cells, whose
    genes are standardised, then the mean expression and the share of cells that express the gene; each column standardised."""
    from sklearn.decomposition import PCA  # imported here, since few processes train a model

    spread = train.x.std(axis=0)
    standardised = np.divide(train.x - train.x.mean(axis=0), spread, out=np.zeros_like(train.x), where=spread > 0)
    pca = PCA(min(N_COMPONENTS, *standardised.shape), svd_solver="randomized", random_state=seed).fit(standardised)
    features = np.column_stack([pca.components_.T, train.x.mean(axis=0), (train.x > 0).mean(axis=0)])
    scale = features.std(axis=0)
    scaled = np.divide(features - features.mean(axis=0), scale, out=np.zeros_like(features), where=scale > 0)
    return np.asarray(scaled, dtype=np.float32)
