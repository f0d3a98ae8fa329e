"""Labelled rows that are most like a row to be predicted, by an order of preference, with a seeded
draw among equals."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from core.base.types import Label, Pair
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs

Budget = Literal["pert", "gene", "both"]
Preference = Literal[
    "same perturbation, close gene",
    "same gene, close perturbation",
    "close perturbation, close gene",
    "same perturbation, any gene",
    "same gene, any perturbation",
    "close perturbation, any gene",
    "close gene, any perturbation",
]
# In order of preference, each with the budget that it is taken from. A row counts for the first
# that it fits.
BUDGET_OF: Mapping[Preference, Budget] = {
    "same perturbation, close gene": "pert",
    "same gene, close perturbation": "gene",
    "close perturbation, close gene": "both",
    "same perturbation, any gene": "pert",
    "same gene, any perturbation": "gene",
    "close perturbation, any gene": "pert",
    "close gene, any perturbation": "gene",
}
DEFAULT_BUDGET = 5  # rows of each budget, unless a person says otherwise
_BYTES = 8  # of the hash of a pair id that seeds its draw


class Retrieved(NamedTuple):
    """A labelled row, and why it was chosen."""

    row: Pair
    preference: Preference


class _Place(NamedTuple):
    """A labelled row and the nodes of its two symbols, by their roles in preferences."""

    row: Pair
    nodes: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class LabelledPairs:
    """The rows of a label view, by role and node of a graph; built once for all rows with the same
    view."""

    graph: KnowledgeGraph
    rows_by: Mapping[str, Mapping[str, Sequence[_Place]]]

    def retrieve(
        self, pair: Pair, budgets: Mapping[Budget, int], seed: int
    ) -> tuple[Retrieved, ...]:
        """Return the labelled rows chosen for a pair, the most preferred first; never one about the
        pair's own two genes.

        budgets: the most rows of each. Where more rows fit a preference than its budget has left,
        the seed and the pair's id draw from them: the same ones whatever else is retrieved, and in
        whichever order.
        """
        rng = np.random.default_rng(
            [seed, int.from_bytes(hashlib.sha256(pair.pair_id.encode()).digest()[:_BYTES])]
        )
        left = dict(budgets)
        found: list[Retrieved] = []
        for preference, rows in self._candidates(pair):
            budget = BUDGET_OF[preference]
            drawn = rng.permutation(len(rows))[: left[budget]]
            left[budget] -= len(drawn)
            found += [Retrieved(rows[i], preference) for i in sorted(drawn)]
        return tuple(found)

    def _candidates(self, pair: Pair) -> Iterator[tuple[Preference, list[Pair]]]:
        """Yield the rows that fit each preference, in order of preference, and none that came
        before."""
        own = _nodes(self.graph, pair)
        close = {role: self.graph.close_to(node) for role, node in own.items()}
        for preference in BUDGET_OF:
            (how, role), (how_other, other) = (part.split() for part in preference.split(", "))
            nodes = [own[role]] if how == "same" else sorted(close[role])
            near = close[other] | {own[other]}
            places = (place for node in nodes for place in self.rows_by[role].get(node, ()))
            yield (
                preference,
                [
                    place.row
                    for place in places
                    if (
                        place.nodes[other] in close[other]
                        if how_other == "close"
                        else place.nodes[other] not in near
                    )
                ],
            )


def _nodes(graph: KnowledgeGraph, pair: Pair) -> dict[str, str]:
    return {"perturbation": graph.node(pair.pert), "gene": graph.node(pair.gene)}


def index_pairs(view: LabelView, graph: KnowledgeGraph, *, directed: bool = False) -> LabelledPairs:
    """Return the rows of a view by the nodes of a graph; directed: only those that went up or
    down."""
    rows_by: dict[str, dict[str, list[_Place]]] = {
        role: defaultdict(list) for role in ("perturbation", "gene")
    }
    for row in view.rows:
        if not directed or row.label in (Label.UP, Label.DOWN):
            place = _Place(row, _nodes(graph, row))
            for role, node in place.nodes.items():
                rows_by[role][node].append(place)
    return LabelledPairs(graph, rows_by)


@dataclass(frozen=True, eq=False)
class GeneNames:
    """The names of genes, by a table of orthologs such as that of `Packs`: symbol of the packs →
    symbol in the other organism."""

    orthologs: Mapping[str, str] = field(default_factory=dict)

    def of(self, symbol: str) -> tuple[str, ...]:
        """Return the symbol itself, then the symbols whose ortholog it is, in any case, sorted:
        IFI16, Ifi203, Ifi209.

        Tools look up each of them in any case, so none differs from another in case only.
        """
        own = symbol.casefold()
        return (
            symbol,
            *(name for name in self._by_ortholog.get(own, ()) if name.casefold() != own),
        )

    @cached_property
    def _by_ortholog(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for name in sorted(self.orthologs):
            ortholog = self.orthologs[name].casefold()
            found[ortholog] = (*found.get(ortholog, ()), name)
        return found


# the least STRING score at which two genes are close, unless a person says otherwise
CLOSE_SCORE = 900
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class KnowledgeGraph:
    """A network of genes. neighbours: node → the nodes it shares an edge with, itself left out; a
    node is a casefolded symbol."""

    neighbours: Mapping[str, frozenset[str]]
    names: GeneNames = field(default_factory=GeneNames)

    def node(self, symbol: str) -> str:
        """Return the node of a dataset's symbol: the first of its names that has an edge, else the
        symbol itself, casefolded."""
        nodes = [name.casefold() for name in self.names.of(symbol)]
        return next((node for node in nodes if node in self.neighbours), nodes[0])

    def close_to(self, node: str) -> frozenset[str]:
        """Return the neighbours of a node; none for a node without edges."""
        return self.neighbours.get(node, _NONE)


def make_graph(edges: Iterable[tuple[str, str]], names: GeneNames | None = None) -> KnowledgeGraph:
    """Return the network of these edges, which have no direction; one of a gene with itself is
    none."""
    neighbours: dict[str, set[str]] = defaultdict(set)
    for a, b in ((a.casefold(), b.casefold()) for a, b in edges):
        if a != b:
            neighbours[a].add(b)
            neighbours[b].add(a)
    return KnowledgeGraph(
        {node: frozenset(of_node) for node, of_node in neighbours.items()}, names or GeneNames()
    )


def graph_of_packs(packs: Packs, least_score: int) -> KnowledgeGraph:
    """Return the network of the pack's edges with at least this score, 1 to 1000; without edges if
    there is no such pack."""
    edges = ((a, b) for a, b, score in packs.edges or () if score >= least_score)
    return make_graph(edges, GeneNames(packs.orthologs or {}))
