"""The similarity of two genes: their cosine, clipped at 0, in one space or averaged over
several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.embeddings.space import Space as GeneSpace
from core.embeddings.symbol_matching import match_symbols
from core.stats.arrays import Bools, Codes, Floats

ROUNDING = 1e-12  # rounding may turn a cosine of 0 into this; it must not count as a neighbour
# a vector whose centring leaves a smaller share of its length is rounding error
NO_DIRECTION = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """One embedding space over the symbols of a dataset.

    columns: of shape (n_symbols, n_columns), a row of NaN for a symbol that the space does not
    cover. built_from: the labels behind the space (dataset and label view), "" for none. rebuild:
    for a space built from labels, computes the columns from only the labelled rows flagged True.
    """

    name: str
    columns: Floats
    built_from: str = ""
    rebuild: Callable[[Bools], Floats] | None = None


def space_over(
    space: GeneSpace,
    symbols: Sequence[str],
    orthologs: Mapping[str, str] | None = None,
    rebuild: Callable[[Bools], Floats] | None = None,
) -> Space:
    """Return a gene space over these symbols, matched by `core.embeddings.symbol_matching`;
    rebuild: see `Space`."""
    index = match_symbols(space, symbols, orthologs).index
    columns = np.where(index[:, None] >= 0, space.vectors[index].astype(np.float64), np.nan)
    return Space(space.name, columns, space.built_from_labels or "", rebuild)


class Similarity(Protocol):
    """Similarities between symbols, computed block by block so that large gene sets fit in
    memory."""

    def block(self, queries: Codes, known: Codes) -> Floats:
        """Return the mean similarity over spaces, of shape (n_queries, n_known); 0 if no space
        covers both symbols."""
        ...

    def covers(self, symbols: Codes) -> Bools:
        """Return flags of the symbols that each space covers, of shape (n_spaces, n_symbols)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class UnitVectors:
    """The vectors of the covered symbols, scaled to length 1.

    vectors: of shape (n_covered, n_columns). row: each symbol's row of `vectors`, of shape
    (n_symbols,), -1 without one.
    """

    vectors: Floats
    row: Codes


def unit_vectors(columns: ArrayLike, centre_on: Codes | None = None) -> UnitVectors:
    """Return each symbol's vector, scaled to length 1. A symbol is not covered if its vector has
    NaN or no direction.

    columns: of shape (n_symbols, n_columns). centre_on: codes of the symbols (the genes of the
    knowledge base) whose mean vector is subtracted first; None for no centring.
    """
    array: Floats = np.asarray(columns, dtype=np.float64)
    if array.ndim != 2:
        raise InputError(
            f"columns: got an array of shape {array.shape}; expected (n_symbols, n_columns)"
        )
    covered = np.isfinite(array).all(axis=1)
    vectors, least = array, np.zeros(len(array))
    if centre_on is not None and len(
        reference := np.intersect1d(np.flatnonzero(covered), centre_on)
    ):
        centre = array[reference].mean(axis=0)
        vectors = array - centre
        least = NO_DIRECTION * (_lengths(array) + np.sqrt(centre @ centre))
    length = _lengths(vectors)
    directed = np.flatnonzero(covered & (length > least))
    row = np.full(len(array), -1)
    row[directed] = np.arange(len(directed))
    return UnitVectors(vectors[directed] / length[directed, None], row)


@dataclass(frozen=True, slots=True, eq=False)
class Cosines:
    """Cosines clipped at 0, in one space or several."""

    units: tuple[UnitVectors, ...]

    def block(self, queries: Codes, known: Codes) -> Floats:
        """See `Similarity`."""
        total = np.zeros((len(queries), len(known)))
        for units in self.units:
            rows = np.flatnonzero(units.row[queries] >= 0)
            columns = np.flatnonzero(units.row[known] >= 0)
            left = _vectors_of(units, queries[rows])
            is_same = np.array_equal(queries[rows], known[columns])  # symmetric: half the work
            product = left @ (left if is_same else _vectors_of(units, known[columns])).T
            product *= product >= ROUNDING
            if product.shape == total.shape:
                total += product
            else:
                total[rows[:, None], columns] += product
        if len(self.units) == 1:
            return total
        return _mean(total, self._find_covered_pairs(), queries, known)

    def covers(self, symbols: Codes) -> Bools:
        """See `Similarity`."""
        return self._find_covered_pairs()[:, symbols]

    def _find_covered_pairs(self) -> Bools:
        return np.stack([units.row >= 0 for units in self.units])


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityMatrices:
    """Similarities from matrices, one of shape (n_symbols, n_symbols) for each space, clipped at 0.

    covered: flags of the symbols that each space covers, of shape (n_spaces, n_symbols); other
    entries of a matrix are ignored.
    """

    matrices: tuple[Floats, ...]
    covered: Bools

    def block(self, queries: Codes, known: Codes) -> Floats:
        """See `Similarity`."""
        total = np.zeros((len(queries), len(known)))
        for matrix, covered in zip(self.matrices, self.covered, strict=True):
            whole = np.arange(len(matrix))
            part = (
                matrix
                if np.array_equal(queries, whole) and np.array_equal(known, whole)
                else matrix[queries[:, None], known]
            )
            total += (
                part
                if covered.all()
                else np.where(covered[queries, None] & covered[known], part, 0.0)
            )
        if len(self.matrices) == 1:
            return total
        return _mean(total, self.covered, queries, known)

    def covers(self, symbols: Codes) -> Bools:
        """See `Similarity`."""
        return self.covered[:, symbols]


@dataclass(frozen=True, slots=True)
class ConstantSimilarity:
    """Similarity 1 between all symbols. As a null, its score shows the bias of a protocol."""

    def block(self, queries: Codes, known: Codes) -> Floats:
        """See `Similarity`."""
        return np.ones((len(queries), len(known)))

    def covers(self, symbols: Codes) -> Bools:
        """See `Similarity`."""
        return np.ones((1, len(symbols)), dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class PermutedSimilarity:
    """A similarity with its vectors permuted among symbols; owner: the symbol whose vector each
    symbol gets, (n_symbols,)."""

    similarity: Similarity
    owner: Codes

    def block(self, queries: Codes, known: Codes) -> Floats:
        """See `Similarity`."""
        return self.similarity.block(self.owner[queries], self.owner[known])

    def covers(self, symbols: Codes) -> Bools:
        """See `Similarity`."""
        return self.similarity.covers(self.owner[symbols])


@dataclass(frozen=True, slots=True, eq=False)
class OwnSimilarity:
    """A similarity in which each symbol has similarity 1 to itself, even if no space covers it."""

    similarity: Similarity

    def block(self, queries: Codes, known: Codes) -> Floats:
        """See `Similarity`."""
        return np.where(queries[:, None] == known, 1.0, self.similarity.block(queries, known))

    def covers(self, symbols: Codes) -> Bools:
        """See `Similarity`."""
        return self.similarity.covers(symbols)


def cosine_similarity(spaces: Sequence[Space], centre_on: Codes | None = None) -> Cosines:
    """Return the cosine similarity in an ensemble of spaces; centre_on: as in `unit_vectors`."""
    if not spaces:
        raise InputError("spaces: got none; expected at least one")
    return Cosines(tuple(unit_vectors(space.columns, centre_on) for space in spaces))


def _lengths(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)))


def _vectors_of(units: UnitVectors, symbols: Codes) -> Floats:
    rows = units.row[symbols]
    return (
        units.vectors
        if np.array_equal(rows, np.arange(len(units.vectors)))
        else units.vectors[rows]
    )


def _mean(total: Floats, covered: Bools, queries: Codes, known: Codes) -> Floats:
    """Divide the sum over spaces, in place, by the number of spaces that cover both symbols;
    covered: (n_spaces, n_symbols)."""
    spaces = covered[:, queries].T.astype(np.float64) @ covered[:, known].astype(np.float64)
    total /= np.maximum(spaces, 1.0, out=spaces)
    return total
