"""What is retrieved for many rows at once, against the retrieval that draws row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.types import Label, Pair
from core.evidence.label_view import LabelView
from core.features.perturbqa.baselines.material import make_gene_graph
from core.features.perturbqa.baselines.retrieval_vote import TIERS, expected_share, tier_label_sums
from core.features.perturbqa.retrieval import (
    BUDGET_OF,
    KnowledgeGraph,
    index_pairs,
    make_graph,
)
from core.transfer.row_index import DIRECTED, EFFECT, LABELLED, UP, Knowledge, knowledge_of, rows_of
from tests.strength import examples

NAMES = [f"g{i}" for i in range(6)]
ALL = {"pert": 1000, "gene": 1000, "both": 1000}


@st.composite
def screens(draw: st.DrawFn) -> tuple[list[Pair], KnowledgeGraph]:
    """Labelled rows over six genes, each pair at most once, and a network."""
    gene = st.sampled_from(NAMES)
    pairs = draw(st.lists(st.tuples(gene, gene), min_size=1, max_size=20, unique=True))
    labels = draw(st.lists(st.sampled_from(list(Label)), min_size=len(pairs), max_size=len(pairs)))
    rows = [
        Pair(f"{p}_{g}", p, g, label, "train") for (p, g), label in zip(pairs, labels, strict=True)
    ]
    return rows, make_graph(draw(st.sets(st.tuples(gene, gene), max_size=10)))


def counts_of(
    rows: list[Pair], graph: KnowledgeGraph, queries: list[Pair]
) -> tuple[np.ndarray, Knowledge]:
    array = make_gene_graph(graph.neighbours, NAMES)
    codes = [
        rows_of(
            *(
                [NAMES.index(symbol) for symbol in axis]
                for axis in zip(*((r.pert, r.gene) for r in some), strict=True)
            )
        )
        for some in (queries, rows)
    ]
    known = knowledge_of(np.array([row.label for row in rows], dtype=object), array.rows(codes[1]))
    return tier_label_sums(array.rows(codes[0]), known, array.edges), known


@pytest.mark.soak
@given(screens())
@examples(25)
def test_each_class_has_the_rows_that_are_retrieved_from_it(
    screen: tuple[list[Pair], KnowledgeGraph],
) -> None:
    rows, graph = screen
    queries = [Pair("", p, g, None, "test") for p in NAMES for g in NAMES]
    sums, known = counts_of(rows, graph, queries)
    places = {row.pair_id: i for i, row in enumerate(rows)}
    index = index_pairs(LabelView(tuple(rows)), graph)
    for i, query in enumerate(queries):
        found = index.retrieve(query, ALL, seed=0)
        for t, preference in enumerate(BUDGET_OF):
            inside = [places[each.row.pair_id] for each in found if each.preference == preference]
            np.testing.assert_array_equal(sums[t, i], known.flags[inside].sum(axis=0))


@given(screens(), st.integers(0, 3))
@examples(25)
def test_a_class_that_is_drawn_from_counts_by_its_mean(
    screen: tuple[list[Pair], KnowledgeGraph], most: int
) -> None:
    """Every row of a class is as likely to be drawn as the others, so the expected share is that of the class."""
    rows, graph = screen
    query = Pair("", NAMES[0], NAMES[1], None, "test")
    sums, _ = counts_of(rows, graph, [query])
    budgets = {"pert": most, "gene": most, "both": most}
    drawn = index_pairs(LabelView(tuple(rows)), graph).retrieve(query, budgets, seed=0)
    everything = index_pairs(LabelView(tuple(rows)), graph).retrieve(query, ALL, seed=0)
    hits = 0.0
    for preference in BUDGET_OF:
        changed = [
            each.row.label is not Label.NONE for each in everything if each.preference == preference
        ]
        hits += sum(each.preference == preference for each in drawn) * float(
            np.mean(changed or [0.0])
        )
    share = expected_share(sums, LABELLED, EFFECT, budgets)[0]
    assert share == pytest.approx(hits / len(drawn) if drawn else np.nan, nan_ok=True)


def test_direction_is_voted_by_rows_with_a_direction() -> None:
    # Gene 5 was measured under 1 (close to 0: up), 2 (close: none), 3 (down) and 4 (de), and row (0, 5) is asked for. With two
    # rows for a gene, the effect is voted by 1 and 2: 1/2; the direction by 1 and 3: 1/2. With one row the direction is 1's.
    labels = {1: Label.UP, 2: Label.NONE, 3: Label.DOWN, 4: Label.DE}
    rows = [Pair(f"g{p}_g5", f"g{p}", "g5", label, "train") for p, label in labels.items()]
    sums, _ = counts_of(
        rows, make_graph([("g0", "g1"), ("g0", "g2")]), [Pair("", "g0", "g5", None, "test")]
    )
    assert expected_share(sums, LABELLED, EFFECT, {"pert": 0, "gene": 2, "both": 0}).tolist() == [
        0.5
    ]
    assert expected_share(sums, DIRECTED, UP, {"pert": 0, "gene": 2, "both": 0}).tolist() == [0.5]
    assert expected_share(sums, DIRECTED, UP, {"pert": 0, "gene": 1, "both": 0}).tolist() == [1.0]
    assert np.isnan(expected_share(sums, LABELLED, EFFECT, {"pert": 2, "gene": 0, "both": 2}))[0]
    assert [tier[:2] for tier in TIERS[:2]] == [("same", "close"), ("close", "same")]
