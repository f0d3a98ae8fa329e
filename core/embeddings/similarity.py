"""How alike genes are: cosines in one space, and their mean over several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from core.embeddings.match import match
from core.embeddings.space import Space
from core.errors import InputError

# Below this part of the lengths that were subtracted, what is left after centring is rounding and points nowhere.
_NO_DIRECTION = 1e-6


def directions(
    space: Space,
    genes: Sequence[str],
    *,
    centre: Sequence[str] | None = None,
    orthologs: Mapping[str, str] | None = None,
) -> NDArray[np.float32]:
    """Unit vectors of genes, shape (len(genes), columns); a row of zeros for a gene that the space does not cover.

    centre: genes whose mean vector, each gene of the space once, is subtracted first; they may be others than `genes`.
    A vector that centring leaves nothing of has no direction and is not covered. Raises InputError when the space covers
    none of `centre`.
    """
    index = match(space, genes, orthologs).index
    vectors = space.vectors[index].astype(np.float64)
    scale = np.linalg.norm(vectors, axis=1)
    if centre is not None:
        known = np.unique(match(space, centre, orthologs).index)
        known = known[known >= 0]
        if not len(known):
            raise InputError(f"space {space.name!r} covers none of the {len(centre):,} genes to centre on, expected one or more")
        mean = space.vectors[known].mean(axis=0, dtype=np.float64)
        vectors -= mean
        scale += np.linalg.norm(mean)
    length = np.linalg.norm(vectors, axis=1)
    pointing = (index >= 0) & (length > _NO_DIRECTION * scale)
    vectors[pointing] /= length[pointing, None]
    vectors[~pointing] = 0.0
    return vectors.astype(np.float32)


def cosines(rows: NDArray[np.float32], columns: NDArray[np.float32]) -> NDArray[np.float32]:
    """Cosines clipped at 0, shape (rows, columns) in [0, 1], from what `directions` gives; NaN where either is uncovered."""
    found = _clipped(rows, columns)
    found[~rows.any(axis=1)] = np.nan
    found[:, ~columns.any(axis=1)] = np.nan
    return found


def mean_similarity(
    pairs: Iterable[tuple[NDArray[np.float32], NDArray[np.float32]]],
) -> NDArray[np.float32]:
    """Mean over spaces of the clipped cosines between (rows, columns) directions, shape (rows, columns) in [0, 1].

    A space counts for a pair of genes only if it covers both; NaN where none does. Raises InputError without a space.
    """
    total: NDArray[np.float32] | None = None
    covering: NDArray[np.float32] | None = None
    for rows, columns in pairs:
        both = np.outer(rows.any(axis=1).astype(np.float32), columns.any(axis=1).astype(np.float32))
        if total is None or covering is None:
            total, covering = _clipped(rows, columns), both
        else:
            total += _clipped(rows, columns)
            covering += both
    if total is None or covering is None:
        raise InputError("similarities of no space, expected one or more")
    with np.errstate(invalid="ignore"):  # 0/0 is NaN: no space covers the pair
        return np.divide(total, covering, out=total)


def similarities(
    spaces: Sequence[Space],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    centre: Sequence[str] | None = None,
    orthologs: Mapping[str, str] | None = None,
) -> NDArray[np.float32]:
    """Similarity of every row gene to every column gene, the mean over the spaces that cover both, in [0, 1].

    Shape (len(rows), len(columns)); NaN where no space covers both. Lengths and means are worked out in float64, the
    products in float32: within 1e-6 of doing all in float64. Definition: transfer of labels between similar genes.
    """
    same = list(rows) == list(columns)

    def both_sides(space: Space) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        left = directions(space, rows, centre=centre, orthologs=orthologs)
        return left, left if same else directions(space, columns, centre=centre, orthologs=orthologs)

    return mean_similarity(map(both_sides, spaces))


def _clipped(rows: NDArray[np.float32], columns: NDArray[np.float32]) -> NDArray[np.float32]:
    product = rows @ columns.T
    return np.clip(product, 0.0, 1.0, out=product)
