"""Match a dataset's symbols to the vectors of a space, and measure how much of the dataset the
space covers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from core.embeddings.space import Space

Rule = Literal["exact", "case", "ortholog"]


@dataclass(frozen=True, eq=False)
class SymbolMatches:
    """The row of a space for each of these symbols.

    index: the row in the space, of shape (n_symbols,), -1 if there is none. rules: how each symbol
    was found, None if it was not. ambiguous: symbols that match several spellings in the space →
    these spellings; the first is used. coverage: the share of symbols found, in [0, 1], NaN without
    symbols.
    """

    symbols: tuple[str, ...]
    index: NDArray[np.int64]
    rules: tuple[Rule | None, ...]
    ambiguous: Mapping[str, tuple[str, ...]]

    @property
    def covered(self) -> NDArray[np.bool_]:
        return self.index >= 0

    @property
    def coverage(self) -> float:
        return float(self.covered.mean()) if self.symbols else float("nan")

    def count(self, rule: Rule) -> int:
        """Return the number of symbols found by this rule."""
        return self.rules.count(rule)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Covered shares in [0, 1]: of a dataset's distinct perturbations and genes, and of its rows by
    perturbation, gene and both.
    """

    perts: float
    genes: float
    rows_by_pert: float
    rows_by_gene: float
    rows_by_both: float


class _SpellingIndex:
    """An index of symbols by their spelling, or by their spelling in any case."""

    def __init__(self, symbols: Iterable[str]) -> None:
        self.place = dict(zip(symbols, count()))
        self._folded: dict[str, list[str]] = {}
        for symbol in sorted(self.place):  # sorted, so that the order of the symbols has no effect
            self._folded.setdefault(symbol.casefold(), []).append(symbol)

    def find(self, symbol: str) -> tuple[str, ...]:
        """Return the symbol itself if it is in the index, otherwise every spelling that differs
        only in case, sorted."""
        return (symbol,) if symbol in self.place else tuple(self._folded.get(symbol.casefold(), ()))


def match_symbols(
    space: Space, wanted: Sequence[str], orthologs: Mapping[str, str] | None = None
) -> SymbolMatches:
    """Find each wanted symbol: first spelled the same, then in another case, then by its ortholog's
    symbol in any case.

    orthologs: from a wanted symbol (in any case) to the symbol of the space's organism. If several
    spellings match, the first in sorted order is used (TP53 rather than Tp53); the order of the
    space's rows has no effect.
    """
    genes, table = _SpellingIndex(space.symbols), _SpellingIndex(orthologs or ())
    index = np.full(len(wanted), -1, dtype=np.int64)
    rules: list[Rule | None] = [None] * len(wanted)
    ambiguous: dict[str, tuple[str, ...]] = {}
    for i, symbol in enumerate(wanted):
        found = genes.find(symbol)
        rule: Rule = "exact" if found == (symbol,) else "case"
        if not found and orthologs and (entries := table.find(symbol)):
            found, rule = genes.find(orthologs[entries[0]]), "ortholog"
        if found:
            index[i], rules[i] = genes.place[found[0]], rule
        if len(found) > 1:
            ambiguous[symbol] = found
    return SymbolMatches(tuple(wanted), index, tuple(rules), ambiguous)


def coverage(
    space: Space,
    perts: Sequence[str],
    genes: Sequence[str],
    orthologs: Mapping[str, str] | None = None,
) -> Coverage:
    """Return the shares of a dataset that a space covers; perts, genes: of its rows, both of shape
    (n_rows,)."""
    by_pert, pert_share = _covered_rows(space, perts, orthologs)
    by_gene, gene_share = _covered_rows(space, genes, orthologs)
    if not len(perts):
        return Coverage(*[float("nan")] * 5)
    return Coverage(
        pert_share,
        gene_share,
        float(by_pert.mean()),
        float(by_gene.mean()),
        float((by_pert & by_gene).mean()),
    )


def _covered_rows(
    space: Space, symbols: Sequence[str], orthologs: Mapping[str, str] | None
) -> tuple[NDArray[np.bool_], float]:
    place: dict[str, int] = {}
    row = np.array([place.setdefault(symbol, len(place)) for symbol in symbols], dtype=np.int64)
    matched = match_symbols(space, list(place), orthologs)
    return matched.covered[row], matched.coverage
