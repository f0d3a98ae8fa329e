"""Check a table of symbols and numbers before using it as a gene space. It may have symbols damaged
by a spreadsheet, be transposed, or have columns that are not dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.base.errors import InputError
from core.base.texts import list_some
from core.embeddings.space import Space, make_space
from core.features.importing.name_kinds import DIMENSION, refuse_counts, refuse_matrix
from core.features.importing.symbols import clean, is_missing, spreadsheet_damage

# Columns of numbers about a gene, or of groups, that are not dimensions of a space.
_ABOUT: Final = re.compile(
    "clusters?|leiden|louvain|n(?:u)?(?:cells|counts|genes)(?:bycounts)?|(?:logp)?(?:total"
    "|mean)counts|means|dispersions(?:norm)?"
    "|variances(?:norm)?|pctdropoutbycounts|highlyvariable|entrez(?:gene)?(?:id)?|(?:gene|ncbi"
    "|hgnc)id|(?:gene)?length|size|start"
    "|end|strand|chr|chrom|chromosome|pos|position|gc|gccontent|percentagegccontent|[tfr]pkm|tpm"
    "|rank|index|unnamed"
    "|labels?|class(?:es)?|split|fold|batch|p(?:adj|vals?|values?)|fdr|q(?:vals?|values?)"
    "|l(?:og)?fc|logfoldchanges?|foldchange"
    "|basemean|n?effects?"
    "|communit(?:y|ies)|kmeans|modules?|degree|counts?|umis?|mean|std|variance|tss"
)
_SYMBOL: Final = re.compile(r"[A-Za-z][A-Za-z0-9.-]*\d*")
_LARGER: Final = 100.0  # a column with this many times the other columns' scale is not a dimension
_LEAST_COLUMNS: Final = 3


def make_imported_space(
    name: str,
    symbols: Sequence[str],
    vectors: NDArray[Any],
    source: str,
    *,
    columns: Sequence[str] = (),
    notes: Sequence[str] = (),
    kept: Collection[str] = (),
) -> Space:
    """Return the space from a file's rows, as in `make_space`.

    Symbols damaged by a spreadsheet and columns that are not dimensions are left out and named in
    the notes. columns: the names of the vectors' columns, if the file has any. kept: columns
    requested by a person. Raise InputError if most rows have no symbol, for numbers as symbols, and
    for a transposed table.
    """
    cleaned, said = [clean(symbol) for symbol in symbols], list(notes)
    rows = sum(DIMENSION.fullmatch(symbol) is not None for symbol in cleaned)
    genes = sum(
        _SYMBOL.fullmatch(column) is not None and not DIMENSION.fullmatch(column)
        for column in columns
    )
    if len(cleaned) > 1 and rows == len(cleaned) and columns and 2 * genes > len(columns):
        raise InputError(
            f"{source}: rows are called {list_some(cleaned, 3)}, columns"
            f" {list_some(list(columns), 3)}: the table is transposed; expected a row for each gene"
        )
    refuse_matrix(cleaned, columns, source)
    if len(columns) >= _LEAST_COLUMNS and _are_counts(vectors):
        refuse_counts(columns, source)
    damaged = {
        i: words
        for i, symbol in enumerate(cleaned)
        if not is_missing(symbol) and (words := spreadsheet_damage(symbol))
    }
    if 2 * len(damaged) > len(cleaned):
        first, words = next(iter(damaged.items()))
        raise InputError(
            f"{source}: {len(damaged):,} of {len(cleaned):,} symbols are not gene symbols, the"
            f" first {cleaned[first]!r}: {words}; expected gene symbols"
        )
    if damaged:
        shown = list_some([f"{cleaned[i]} in row {i + 1}" for i in damaged])
        said.append(
            f"{len(damaged):,} rows left out with symbols made by a spreadsheet ({shown}):"
            f" {next(iter(damaged.values()))}"
        )
        sound = [i for i in range(len(cleaned)) if i not in damaged]
        cleaned, vectors = [cleaned[i] for i in sound], vectors[sound]
    odd = [i for i in _odd_columns(columns, vectors) if columns[i] not in kept]
    if odd:
        names = list_some([columns[i] for i in odd])
        said.append(
            f"{len(odd):,} columns left out that are not dimensions ({names}); --keep-column"
            " keeps one"
        )
        vectors = np.delete(vectors, odd, axis=1)
    return make_space(name, cleaned, vectors, source, notes=said)


def _are_counts(vectors: NDArray[Any]) -> bool:
    """Return whether all numbers are whole, none is negative, and some are above 1."""
    with np.errstate(invalid="ignore"):
        whole = bool((vectors == np.rint(vectors)).all())
    return whole and vectors.size > 0 and vectors.min() >= 0 and vectors.max() > 1


def _odd_columns(columns: Sequence[str], vectors: NDArray[Any]) -> list[int]:
    """Return the positions of columns that are not dimensions: those named in _ABOUT, and those
    with a much larger scale than the others. Of the latter, only columns of whole numbers, or with
    names unlike dimensions, count, because the first principal component may be large.
    """
    if len(columns) < _LEAST_COLUMNS or vectors.dtype.kind not in "fiu" or not len(vectors):
        return []
    values = vectors.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.nanmedian(np.abs(values), axis=0)
        whole = (values == np.rint(values)).all(axis=0)
    named = [_ABOUT.fullmatch(re.sub(r"[^a-z]", "", name.lower())) is not None for name in columns]
    usual = float(np.median(scale[~whole])) if (~whole).any() else np.inf
    other = [bool(whole[i]) or not DIMENSION.fullmatch(name) for i, name in enumerate(columns)]
    return [i for i in range(len(columns)) if named[i] or (other[i] and scale[i] > _LARGER * usual)]
