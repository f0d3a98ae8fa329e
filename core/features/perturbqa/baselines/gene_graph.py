"""An undirected network of genes over a dataset's symbols, as a sparse matrix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from core.stats.arrays import Bools, Codes
from core.transfer.row_index import Rows


@dataclass(frozen=True, slots=True, eq=False)
class GeneGraph:
    """A network, and the node of each of a dataset's symbols.

    node: each symbol's node, of shape (n_symbols,); a symbol outside the network gets a node
    without edges. edges: 1 if two nodes are joined, sparse and symmetric, of shape (n_nodes,
    n_nodes). Nodes that are not symbols of the dataset can lie on paths between symbols.
    """

    node: Codes
    edges: Any

    @property
    def covered(self) -> Bools:
        """Flags of the symbols that have an edge, of shape (n_symbols,)."""
        return np.asarray(np.diff(self.edges.indptr)[self.node] > 0)

    def rows(self, rows: Rows) -> Rows:
        """Return the same rows with nodes instead of symbols."""
        return Rows(self.node[rows.pert], self.node[rows.gene])

    def are_joined(self, rows: Rows) -> Bools:
        """Return flags of the rows with an edge between their two symbols, of shape (n_rows,)."""
        return np.asarray(self.edges[self.node[rows.pert], self.node[rows.gene]]).ravel() > 0

    def between_symbols(self) -> Any:
        """Return a sparse matrix of shape (n_symbols, n_symbols): 1 if two different symbols are
        joined."""
        return self.edges[self.node][:, self.node]


def make_gene_graph(
    neighbours: Mapping[str, Iterable[str]], symbol_nodes: Sequence[str]
) -> GeneGraph:
    """Return the network of these neighbours. Each edge is listed from both of its ends; no node is
    its own neighbour.

    symbol_nodes: the name of each symbol's node, of length n_symbols.
    """
    names = sorted({*neighbours, *symbol_nodes})
    place = {name: i for i, name in enumerate(names)}
    ends = [(place[name], place[other]) for name, others in neighbours.items() for other in others]
    at = np.array(ends, dtype=np.intp).reshape(-1, 2).T
    edges = csr_array(
        (np.ones(at.shape[1], dtype=np.float32), (at[0], at[1])), shape=(len(names), len(names))
    )
    return GeneGraph(np.array([place[name] for name in symbol_nodes], dtype=np.intp), edges)
