"""The labelled rows that a tool may see: all training rows, or those that a blinded benchmark
allows.

A view holds the visible rows and nothing else, so no tool can reach a hidden row through it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from core.base.errors import InputError
from core.base.hashes import sha256_of
from core.base.types import TRAIN, Label, Pair
from core.evidence.packs import Table

Axis = Literal["pert", "gene"]

NAME_LENGTH = 12  # characters of the content's SHA-256


class Counts(NamedTuple):
    """Rows (n), rows that changed (de), and those that went up and down; the rest of `de` changed
    in an unknown direction."""

    n: int
    de: int
    up: int
    down: int

    @property
    def p_de(self) -> float | None:
        """The share of rows that changed, in [0, 1]; None without rows."""
        return self.de / self.n if self.n else None

    @property
    def p_up_given_de(self) -> float | None:
        """The share that went up among rows of known direction, in [0, 1]; None without such
        rows."""
        directed = self.up + self.down
        return self.up / directed if directed else None


def count_labels(rows: Iterable[Pair]) -> Counts:
    """Return the counts of labelled rows."""
    labels = Counter(row.label for row in rows)
    n = labels.total()
    return Counts(n, n - labels[Label.NONE], labels[Label.UP], labels[Label.DOWN])


def pool_counts(counts: Iterable[Counts]) -> Counts:
    """Return the sum of several counts."""
    return Counts(*map(sum, zip(Counts(0, 0, 0, 0), *counts, strict=True)))


@dataclass(frozen=True, eq=False)
class LabelView:
    """Labelled training rows, sorted, so that the same rows in any order give the same answers.

    Raises InputError if a row has no label or is of another split.
    """

    rows: tuple[Pair, ...] = field(repr=False)

    def __post_init__(self) -> None:
        wrong = next((row for row in self.rows if row.label is None or row.split != TRAIN), None)
        if wrong is not None:
            raise InputError(
                f"label view: {wrong.pair_id} has label {wrong.label} and split {wrong.split!r},"
                " expected labelled training rows"
            )
        object.__setattr__(
            self, "rows", tuple(sorted(self.rows, key=lambda row: (row.pert, row.gene, row.label)))
        )

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def name(self) -> str:
        """A hash of the rows and their labels, independent of their order."""
        content = json.dumps([(row.pert, row.gene, row.label) for row in self.rows])
        return sha256_of(content)[:NAME_LENGTH]

    @cached_property
    def source(self) -> str:
        """The source of an answer that is made from these rows."""
        return f"{len(self):,} labelled rows in view"

    @cached_property
    def counts(self) -> Counts:
        """The counts of all rows."""
        return count_labels(self.rows)

    @cached_property
    def by_pert(self) -> Table[tuple[Pair, ...]]:
        """Rows by perturbation."""
        return self._by("pert")

    @cached_property
    def by_gene(self) -> Table[tuple[Pair, ...]]:
        """Rows by target gene."""
        return self._by("gene")

    @cached_property
    def pert_counts(self) -> Mapping[str, Counts]:
        """The counts of each perturbation in view."""
        return {pert: count_labels(rows) for pert, rows in self.by_pert.entries.items()}

    def _by(self, axis: Axis) -> Table[tuple[Pair, ...]]:
        groups: dict[str, list[Pair]] = defaultdict(list)
        for row in self.rows:
            groups[getattr(row, axis)].append(row)
        return Table({symbol: tuple(rows) for symbol, rows in groups.items()}, self.source)


def all_training(pairs: Iterable[Pair]) -> LabelView:
    """Return the view of every labelled row of the training split."""
    return LabelView(
        tuple(pair for pair in pairs if pair.label is not None and pair.split == TRAIN)
    )


def blinded_view(pairs: Iterable[Pair], evaluated: Iterable[Pair]) -> LabelView:
    """Return the view of the labelled training rows that share neither a perturbation nor a target
    gene with any evaluated row.

    Symbols that differ in case only count as the same, since tools ignore case.
    """
    hidden = list(evaluated)
    perts, genes = {row.pert.casefold() for row in hidden}, {row.gene.casefold() for row in hidden}
    return all_training(
        pair
        for pair in pairs
        if pair.pert.casefold() not in perts and pair.gene.casefold() not in genes
    )


@dataclass(frozen=True, slots=True)
class Folds:
    """Doubly disjoint cells: perturbations and genes are each cut into k parts; a cell is one part
    of each.

    views: of length k², the rows visible to each cell, which are outside both of its parts. cells:
    pair id → cell number.
    """

    views: tuple[LabelView, ...]
    cells: Mapping[str, int]

    def view_of(self, pair: Pair) -> LabelView:
        """Return the view for evaluating this pair. Raise KeyError if the pair is in no cell."""
        return self.views[self.cells[pair.pair_id]]


def fold_views(pairs: Sequence[Pair], k: int = 5, seed: int = 0) -> Folds:
    """Cut pairs, labelled or not, into k × k cells of about equal numbers of perturbations and
    genes.

    The cells depend on the symbols and the seed, not on the order of the pairs; symbols that differ
    in case only are in the same part. The cells are those of the kNN protocol "folds" with the same
    pairs, k and seed.
    """
    rng = np.random.default_rng(seed)
    perts = _cut_into_parts([pair.pert for pair in pairs], k, rng)
    genes = _cut_into_parts([pair.gene for pair in pairs], k, rng)
    parts = [(perts[pair.pert], genes[pair.gene]) for pair in pairs]
    views = tuple(
        all_training(
            pair for pair, (p, g) in zip(pairs, parts, strict=True) if p != pert and g != gene
        )
        for pert in range(k)
        for gene in range(k)
    )
    return Folds(
        views, {pair.pair_id: p * k + g for pair, (p, g) in zip(pairs, parts, strict=True)}
    )


def _cut_into_parts(symbols: Iterable[str], k: int, rng: np.random.Generator) -> dict[str, int]:
    """Return the part of every symbol, from 0 to k − 1."""
    distinct = sorted(set(symbols))
    place: dict[str, int] = {}
    for symbol in distinct:
        place.setdefault(symbol.casefold(), len(place))
    parts = rng.permutation(len(place)) % k
    return {symbol: int(parts[place[symbol.casefold()]]) for symbol in distinct}
