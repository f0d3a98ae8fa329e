"""Which genes are close to which: those that share an edge of a network.

The names under which knowledge packs may list a gene of a dataset, also packs about genes of
another organism.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from core.evidence.packs import Packs


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
