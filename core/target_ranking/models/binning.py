"""Expression as the bins of a cell, so that a token says how strong a gene is among those of its cell, whatever its depth."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.target_ranking.expression import Expression

N_BINS: Final = 51  # of them 0 for a gene that is not seen, as in scGPT


def bin_expression(x: Expression, n_bins: int = N_BINS) -> NDArray[np.int16]:
    """Returns the bin of each gene in its cell, of the shape (n_cells, n_genes): 0 where it is not expressed, otherwise 1 to
    `n_bins` - 1 by the mid-rank among the genes of the cell that are, in bins of equal size as far as ties allow."""
    from scipy.stats import rankdata

    expressed = x > 0
    n_expressed = expressed.sum(axis=1, keepdims=True)
    ranks = rankdata(np.where(expressed, x, 0), axis=1) - (x.shape[1] - n_expressed)
    share = np.divide(ranks - 0.5, n_expressed, out=np.zeros_like(ranks), where=n_expressed > 0)
    bins = 1 + np.floor(share * (n_bins - 1))
    return np.where(expressed, bins, 0).astype(np.int16)
