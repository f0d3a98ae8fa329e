from __future__ import annotations

from core.evidence.packs import Packs
from core.features.perturbqa.retrieval import GeneNames, graph_of_packs, make_graph
from tests.evidence.world import PACKS


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
