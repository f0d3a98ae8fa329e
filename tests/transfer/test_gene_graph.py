"""Edges and steps between a dataset's symbols in a network that has other genes too."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import shortest_path

from core.transfer.gene_graph import FAR, NO_PATH, SAME, make_gene_graph
from core.transfer.labelled_rows import rows_of

# a – b – c – d – e in a row, f – g apart. The symbols are a, c, e, f, one whose node is b, and one that the network lacks.
NEIGHBOURS = {"a": "b", "b": "ac", "c": "bd", "d": "ce", "e": "d", "f": "g", "g": "f"}
A, C, E, F, X, Z = range(6)
GRAPH = make_gene_graph(NEIGHBOURS, ["a", "c", "e", "f", "b", "z"])


def test_steps_go_through_genes_that_are_not_in_the_dataset() -> None:
    rows = rows_of([A, A, A, A, A, Z, A, Z], [X, C, E, F, Z, Z, A, A])
    # a–b is an edge, a–c two by b, a–e four, f is in another part, z nowhere
    assert GRAPH.count_hops(rows).tolist() == [1, 2, FAR, NO_PATH, NO_PATH, NO_PATH, SAME, NO_PATH]
    assert GRAPH.are_joined(rows).tolist() == [True, *[False] * 7]
    assert GRAPH.covered.tolist() == [True, True, True, True, True, False]


def test_edges_between_symbols_of_the_dataset() -> None:
    expected = np.zeros((6, 6))
    for i, j in ((A, X), (X, C)):  # the others have an end outside
        expected[i, j] = expected[j, i] = 1
    np.testing.assert_array_equal(GRAPH.between_symbols().toarray(), expected)


@given(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_steps_are_shortest_paths(edges: set[tuple[int, int]]) -> None:
    dense = np.zeros((10, 10))
    for a, b in edges:
        if a != b:
            dense[a, b] = dense[b, a] = 1
    names = [f"g{i}" for i in range(10)]
    graph = make_gene_graph({names[i]: [names[j] for j in np.flatnonzero(dense[i])] for i in range(10) if dense[i].any()}, names)
    distance = shortest_path(dense, unweighted=True)
    pert, gene = np.divmod(np.arange(100), 10)
    expected = np.where(np.isinf(distance), NO_PATH, np.minimum(distance, FAR))[pert, gene]
    has_edge = dense.any(axis=1)
    expected[~(has_edge[pert] & has_edge[gene])] = NO_PATH
    np.testing.assert_array_equal(graph.count_hops(rows_of(pert, gene)), expected)
