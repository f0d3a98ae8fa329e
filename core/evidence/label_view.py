"""The labelled rows that a tool may see: all training rows, or those that a blinded benchmark leaves it.

A view holds what may be seen and nothing else, so no tool can reach a hidden row through it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypedDict

import numpy as np

from core.errors import InputError
from core.evidence.symbol_table import Table
from core.types import Label, Pair

Axis = Literal["pert", "gene"]

TRAIN = "train"
NAME_LENGTH = 12  # characters of the content's SHA-256


class Tally(TypedDict):
    """`Counts` as part of a body."""

    n: int
    de: int
    up: int
    down: int


class Counts(NamedTuple):
    """Rows, those with an effect, and of those up and down; the rest of `de` changed in an unknown direction."""

    n: int
    de: int
    up: int
    down: int

    @property
    def p_de(self) -> float | None:
        """The share with an effect; None without a row."""
        return self.de / self.n if self.n else None

    @property
    def p_up_given_de(self) -> float | None:
        """The share that goes up among those of known direction; None without one."""
        directed = self.up + self.down
        return self.up / directed if directed else None

    def tally(self) -> Tally:
        """The counts as plain JSON."""
        return Tally(n=self.n, de=self.de, up=self.up, down=self.down)


def count(rows: Iterable[Pair]) -> Counts:
    """What the labels of some labelled rows are."""
    found = Counter(row.label for row in rows)
    n = found.total()
    return Counts(n, n - found[Label.NONE], found[Label.UP], found[Label.DOWN])


def pooled(counts: Iterable[Counts]) -> Counts:
    """The sum of several counts."""
    return Counts(*map(sum, zip(Counts(0, 0, 0, 0), *counts, strict=True)))


@dataclass(frozen=True, eq=False)
class LabelView:
    """Labelled training rows, in an order of their own, so that equal rows make equal answers.

    Raises InputError for a row without a label or of another split.
    """

    rows: tuple[Pair, ...] = field(repr=False)

    def __post_init__(self) -> None:
        wrong = next((row for row in self.rows if row.label is None or row.split != TRAIN), None)
        if wrong is not None:
            raise InputError(
                f"label view: {wrong.pair_id} has label {wrong.label} and split {wrong.split!r}, expected labelled training rows"
            )
        object.__setattr__(self, "rows", tuple(sorted(self.rows, key=lambda row: (row.pert, row.gene, row.label))))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def name(self) -> str:
        """A hash of the rows and their labels, whatever their order."""
        content = json.dumps([(row.pert, row.gene, row.label) for row in self.rows])
        return hashlib.sha256(content.encode()).hexdigest()[:NAME_LENGTH]

    @cached_property
    def source(self) -> str:
        """What an answer that is made from these rows names as its source."""
        return f"{len(self):,} labelled rows in view"

    @cached_property
    def counts(self) -> Counts:
        """The counts of all rows."""
        return count(self.rows)

    @cached_property
    def by_pert(self) -> Table[tuple[Pair, ...]]:
        """Rows by their perturbation."""
        return self._by("pert")

    @cached_property
    def by_gene(self) -> Table[tuple[Pair, ...]]:
        """Rows by their target gene."""
        return self._by("gene")

    @cached_property
    def pert_counts(self) -> Mapping[str, Counts]:
        """The counts of each perturbation in view."""
        return {pert: count(rows) for pert, rows in self.by_pert.entries.items()}

    def _by(self, axis: Axis) -> Table[tuple[Pair, ...]]:
        found: dict[str, list[Pair]] = defaultdict(list)
        for row in self.rows:
            found[getattr(row, axis)].append(row)
        return Table({symbol: tuple(rows) for symbol, rows in found.items()}, self.source)


def all_training(pairs: Iterable[Pair]) -> LabelView:
    """Every labelled row of the training split."""
    return LabelView(tuple(pair for pair in pairs if pair.label is not None and pair.split == TRAIN))


def blinded(pairs: Iterable[Pair], evaluated: Iterable[Pair]) -> LabelView:
    """The labelled training rows that share neither a perturbation nor a target gene with any evaluated row.

    Symbols that differ in case only are the same here, since tools find them so.
    """
    hidden = list(evaluated)
    perts, genes = {row.pert.casefold() for row in hidden}, {row.gene.casefold() for row in hidden}
    return all_training(pair for pair in pairs if pair.pert.casefold() not in perts and pair.gene.casefold() not in genes)


@dataclass(frozen=True, slots=True)
class Folds:
    """Doubly disjoint cells: perturbations and genes are each cut into k parts, a cell is one part of each.

    views: of length k², each what is visible to a cell: the rows outside both of its parts. cells: pair id → its cell.
    """

    views: tuple[LabelView, ...]
    cells: Mapping[str, int]

    def view_of(self, pair: Pair) -> LabelView:
        """What may be seen when this pair is evaluated; KeyError for a pair that was not cut."""
        return self.views[self.cells[pair.pair_id]]


def fold_views(pairs: Sequence[Pair], k: int = 5, seed: int = 0) -> Folds:
    """Cut pairs, labelled or not, into k × k cells of about equal numbers of perturbations and genes.

    The cut depends on the symbols and the seed, not on the order of pairs; symbols that differ in case only stay
    together. The cells are those of the kNN protocol "folds" on the same pairs, k and seed. Raises InputError for k < 2.
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise InputError(f"folds: k is {k!r}, expected a whole number of at least 2")
    rng = np.random.default_rng(seed)
    perts = _cut([pair.pert for pair in pairs], k, rng)
    genes = _cut([pair.gene for pair in pairs], k, rng)
    parts = [(perts[pair.pert], genes[pair.gene]) for pair in pairs]
    views = tuple(
        all_training(pair for pair, (p, g) in zip(pairs, parts, strict=True) if p != pert and g != gene)
        for pert in range(k)
        for gene in range(k)
    )
    return Folds(views, {pair.pair_id: p * k + g for pair, (p, g) in zip(pairs, parts, strict=True)})


def _cut(symbols: Iterable[str], k: int, rng: np.random.Generator) -> dict[str, int]:
    """A part from 0 to k − 1 for every symbol."""
    distinct = sorted(set(symbols))
    place: dict[str, int] = {}
    for symbol in distinct:
        place.setdefault(symbol.casefold(), len(place))
    parts = rng.permutation(len(place)) % k
    return {symbol: int(parts[place[symbol.casefold()]]) for symbol in distinct}
