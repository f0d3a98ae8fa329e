"""The projection of a gene space onto its first two principal components."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SAME = 1e-9  # components of equal directions differ by less than this, through rounding


def project_to_two_axes(vectors: NDArray[np.float64]) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """The first two principal components of the vectors, scaled to length 1, and each one's share of the variance.

    vectors: of shape (n, columns), a row of NaN for a missing vector; the result is of shape (n, 2), NaN for missing
    vectors. Without variance the components are 0 and the shares NaN.
    """
    from sklearn.decomposition import PCA  # imported here, since few pages need it and it takes 60 MB

    present = np.isfinite(vectors).all(axis=1)
    length = np.linalg.norm(vectors, axis=1)
    present &= length > 0
    projected = np.full((len(vectors), 2), np.nan)
    known = vectors[present] / length[present, None]
    n_components = min(2, *known.shape)
    if n_components == 0 or np.ptp(known, axis=0).max() <= SAME:
        projected[present] = 0.0
        return projected, (float("nan"), float("nan"))
    fitted = PCA(n_components, random_state=0)
    projected[present] = 0.0
    projected[present, :n_components] = fitted.fit_transform(known)
    shares = [*fitted.explained_variance_ratio_.tolist(), 0.0]
    return projected, (shares[0], shares[1])
