"""Edges between a dataset's symbols in a network that has other genes too."""

from __future__ import annotations

import numpy as np

from core.features.perturbqa.baselines.material import make_gene_graph
from core.transfer.labelled_rows import rows_of

# a – b – c – d – e in a row, f – g apart. The symbols are a, c, e, f, one whose node is b, and one that the network lacks.
NEIGHBOURS = {"a": "b", "b": "ac", "c": "bd", "d": "ce", "e": "d", "f": "g", "g": "f"}
A, C, E, F, X, Z = range(6)
GRAPH = make_gene_graph(NEIGHBOURS, ["a", "c", "e", "f", "b", "z"])


def test_edges_of_rows_and_symbols_that_the_network_covers() -> None:
    rows = rows_of([A, A, A, A, A, Z, A, Z], [X, C, E, F, Z, Z, A, A])
    assert GRAPH.are_joined(rows).tolist() == [True, *[False] * 7]
    assert GRAPH.covered.tolist() == [True, True, True, True, True, False]


def test_edges_between_symbols_of_the_dataset() -> None:
    expected = np.zeros((6, 6))
    for i, j in ((A, X), (X, C)):  # the others have an end outside
        expected[i, j] = expected[j, i] = 1
    np.testing.assert_array_equal(GRAPH.between_symbols().toarray(), expected)
