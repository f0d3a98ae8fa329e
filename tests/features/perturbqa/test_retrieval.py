"""Retrieval of labelled rows: the order of preference by hand, and what no row may ever be shown by property."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.types import Label, Pair
from core.evidence.label_view import LabelView, all_training, blinded_view
from core.evidence.packs import Packs
from core.features.perturbqa.retrieval import (
    BUDGET_OF,
    Budget,
    GeneNames,
    graph_of_packs,
    index_pairs,
    make_graph,
)
from tests.evidence.world import DE, DOWN, NONE, PACKS, UP, pair
from tests.strength import examples

# Close to P is Pc, close to G is Gc; Pf and Gf are close to nothing.
GRAPH = make_graph([("P", "Pc"), ("G", "Gc")])
ASKED = pair("P_G", None, "test")
FITTING = {
    "P_Gc": "same perturbation, close gene",
    "Pc_G": "same gene, close perturbation",
    "Pc_Gc": "close perturbation, close gene",
    "P_Gf": "same perturbation, any gene",
    "Pf_G": "same gene, any perturbation",
    "Pc_Gf": "close perturbation, any gene",
    "Pf_Gc": "close gene, any perturbation",
}
NOT_FITTING = ("P_G", "Pf_Gf")
ROWS = tuple(pair(key, UP) for key in (*FITTING, *NOT_FITTING))
PLENTY = {"pert": 9, "gene": 9, "both": 9}


def test_every_row_counts_for_the_first_preference_that_it_fits() -> None:
    found = index_pairs(LabelView(ROWS), GRAPH).retrieve(ASKED, PLENTY, 0)
    assert [(one.row.pair_id, one.preference) for one in found] == list(FITTING.items())
    assert list(BUDGET_OF) == list(FITTING.values())


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        ({"pert": 1, "gene": 0, "both": 0}, ["P_Gc"]),
        ({"pert": 2, "gene": 1, "both": 0}, ["P_Gc", "Pc_G", "P_Gf"]),
        ({"pert": 0, "gene": 3, "both": 1}, ["Pc_G", "Pc_Gc", "Pf_G", "Pf_Gc"]),
        ({"pert": 0, "gene": 0, "both": 0}, []),
    ],
)
def test_a_budget_is_spent_on_the_most_preferred(
    budgets: dict[Budget, int], expected: list[str]
) -> None:
    found = index_pairs(LabelView(ROWS), GRAPH).retrieve(ASKED, budgets, 0)
    assert [one.row.pair_id for one in found] == expected


def test_for_the_direction_only_rows_that_have_one_are_there() -> None:
    rows = (pair("P_G1", UP), pair("P_G2", DOWN), pair("P_G3", NONE), pair("P_G4", DE))
    index = index_pairs(LabelView(rows), GRAPH, directed=True)
    assert [one.row.pair_id for one in index.retrieve(ASKED, PLENTY, 0)] == ["P_G1", "P_G2"]


def test_symbols_that_differ_in_case_only_are_the_same_gene() -> None:
    rows = (pair("p_g", UP), pair("p_GC", UP), pair("PC_g", DOWN))
    found = index_pairs(LabelView(rows), GRAPH).retrieve(ASKED, PLENTY, 0)
    assert [one.row.pair_id for one in found] == ["p_GC", "PC_g"]  # not the row itself


def test_among_equals_a_row_draws_by_the_seed_and_its_own_id() -> None:
    rows = tuple(pair(f"{pert}_g{i}", UP) for pert in ("P", "Q") for i in range(60))
    index = index_pairs(LabelView(rows), GRAPH)
    budgets = {"pert": 6, "gene": 0, "both": 0}

    def drawn(asked, seed):
        return tuple(one.row.gene for one in index.retrieve(asked, budgets, seed))

    first, other = pair("P_G", None), pair("P_H", None)
    assert drawn(first, 1) == drawn(first, 1)
    assert len({drawn(first, 1), drawn(first, 2), drawn(other, 1), drawn(other, 2)}) == 4
    counts = Counter(gene for i in range(400) for gene in drawn(pair(f"P_H{i}", None), 0))
    # Each of 60 rows is drawn with probability 1/10: 40 times of 400, and 60 Poisson counts stay within 5 SD of that.
    assert set(counts) == {f"g{i}" for i in range(60)}
    assert max(abs(n - 40) for n in counts.values()) < 5 * 40**0.5


SYMBOLS = st.sampled_from("abcdef")
LABELS = st.sampled_from([*Label, None])
SCREENS = st.lists(
    st.tuples(SYMBOLS, SYMBOLS, LABELS, st.sampled_from(["train", "test"])), max_size=40
)
EDGES = st.lists(st.tuples(st.sampled_from("abcdefABC"), SYMBOLS), max_size=12)


@examples(150)
@given(
    SCREENS,
    EDGES,
    st.integers(0, 9),
    st.integers(0, 2**32),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_no_label_but_of_a_training_row_in_view_is_ever_shown(
    screen: list[tuple[str, str, Label | None, str]],
    edges: list[tuple[str, str]],
    budget: int,
    seed: int,
    random: np.random.RandomState,
    blinded: bool,
) -> None:
    rows = [
        Pair(f"P{p}_G{g}_{i}", f"P{p}", f"G{g}", label, split)
        for i, (p, g, label, split) in enumerate(screen)
    ]
    graph = make_graph(
        [*((f"P{a}", f"P{b}") for a, b in edges), *((f"G{b}", f"G{a}") for a, b in edges)]
    )
    asked = [row for row in rows if row.split == "test"]
    view = blinded_view(rows, asked) if blinded else all_training(rows)
    budgets = {"pert": budget, "gene": budget, "both": budget}
    shown = {row.pair_id: index_pairs(view, graph).retrieve(row, budgets, seed) for row in asked}
    allowed = set(view.rows)
    for row in asked:
        found = shown[row.pair_id]
        assert all(
            one.row in allowed and one.row.split == "train" and one.row.label is not None
            for one in found
        )
        assert len({one.row.pair_id for one in found}) == len(found)
        assert all((one.row.pert, one.row.gene) != (row.pert, row.gene) for one in found)
        assert (
            max(Counter(BUDGET_OF[one.preference] for one in found).values(), default=0) <= budget
        )
        if blinded:
            assert all(one.row.pert != row.pert and one.row.gene != row.gene for one in found)
    # In another order of the file's rows and of those that are asked, each is shown the same.
    random.shuffle(rows)
    again = index_pairs(all_training(rows) if not blinded else blinded_view(rows, asked), graph)
    distinct = len({(row.pert, row.gene, row.label) for row in view.rows}) == len(view)
    if distinct:  # rows that are equal but for their ids have no order of their own
        assert {row.pair_id: again.retrieve(row, budgets, seed) for row in asked[::-1]} == shown


def test_an_edge_goes_both_ways_and_none_leads_to_the_gene_itself() -> None:
    graph = make_graph([("A", "b"), ("B", "C"), ("c", "C")])
    assert graph.neighbours == {"a": {"b"}, "b": {"a", "c"}, "c": {"b"}}
    assert graph.close_to(graph.node("C")) == {"b"}
    assert graph.close_to(graph.node("nobody")) == frozenset()


def test_only_edges_of_that_score_count() -> None:
    # of the edges about Jak1 in the small world: Stat1 990, Irf1 900, Cxcl10 700
    assert graph_of_packs(PACKS, 900).close_to("jak1") == {"stat1", "irf1"}
    assert graph_of_packs(PACKS, 901).close_to("jak1") == {"stat1"}
    assert graph_of_packs(Packs(), 1).neighbours == {}


def test_a_gene_stands_where_its_ortholog_does_if_it_has_no_edge_of_its_own() -> None:
    graph = make_graph([("Ifi209", "Stat1")], GeneNames({"Ifi203": "IFI16", "Ifi209": "IFI16"}))
    assert graph.node("IFI16") == "ifi209"
    assert graph.close_to(graph.node("IFI16")) == {graph.node("STAT1")}
    assert make_graph([("IFI16", "STAT1"), ("Ifi209", "X")], graph.names).node("IFI16") == "ifi16"
