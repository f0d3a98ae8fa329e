"""A gene space on a sheet of paper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SAME = 1e-9  # components of equal directions differ by less, as rounding makes them


def project_to_two_axes(vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """The first two principal components of vectors at length 1, and the share of the variance of each.

    vectors: of shape (n, columns), NaN throughout a row that has none; the result of shape (n, 2), NaN there. Shares are
    NaN, and the second axis 0, where there is nothing to spread.
    """
    from sklearn.decomposition import PCA  # here, since few need it and it takes 60 MB

    there = np.isfinite(vectors).all(axis=1)
    length = np.linalg.norm(vectors, axis=1)
    there &= length > 0
    places = np.full((len(vectors), 2), np.nan)
    known = vectors[there] / length[there, None]
    kept = min(2, *known.shape)
    if kept == 0 or np.ptp(known, axis=0).max() <= SAME:
        places[there] = 0.0
        return places, (float("nan"), float("nan"))
    fitted = PCA(kept, random_state=0)
    places[there] = 0.0
    places[there, :kept] = fitted.fit_transform(known)
    shares = [*fitted.explained_variance_ratio_.tolist(), 0.0]
    return places, (shares[0], shares[1])
