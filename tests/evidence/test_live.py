"""Tools that ask public sources: what they say, and that no label leaves its view through them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from core.base.types import Evidence
from core.evidence.label_view import LabelView, all_training, blinded_view
from core.evidence.packs import Packs, Partner
from core.evidence.registry import TOOLS
from core.evidence.render import render
from core.evidence.source_client import SourceClient
from tests.evidence.fake_sources import LIVE, NOTHING, WORLD, ask, run_with_client
from tests.evidence.world import DOWN, NONE, PACKS, PAIRS, SOURCES, TRAINING, UP
from tests.fakes import sources as testing

EVALUATED = (TRAINING[0],)
FLIPPED = {UP: DOWN, DOWN: NONE, NONE: UP}


def test_gene_info(tmp_path: Path) -> None:
    with testing.serve_fake_sources(WORLD) as server:
        found = run_with_client(
            server, tmp_path, lambda client: ask(client, "gene_info", gene="Il6")
        )
    assert found.body == {
        "symbol": "Il6",
        "name": "Il6 as invented",
        "summary": "Il6 stands here for a gene.",
        "ortholog": None,
        "go_bp": [
            f"process {number} of Il6" for number in range(8)
        ],  # of ten, sent in another order
        "kegg": [f"pathway {number}" for number in range(5)],
    }
    assert render(found).text == (
        "gene info, Il6: Il6 as invented. processes: "
        + "; ".join(f"process {number} of Il6" for number in range(8))
        + ". KEGG pathways: pathway 0; pathway 1; pathway 2; pathway 3; pathway 4. Il6 stands here for a gene."
    )


def test_gene_info_takes_the_ortholog_of_the_pack(tmp_path: Path) -> None:
    with testing.serve_fake_sources(WORLD) as server:
        found = run_with_client(
            server,
            tmp_path,
            lambda client: TOOLS["gene_info"].run("Stat1", None, PACKS, NOTHING, client),
        )
    assert found.body["ortholog"] == "STAT1"
    assert found.source.endswith(f"; {SOURCES['orthologs']}")


def test_single_terms_and_bare_genes(tmp_path: Path) -> None:
    genes = {
        "One": {
            "symbol": "One",
            "go": {"BP": {"term": "x"}},
            "pathway": {"kegg": {"name": "y"}},
            "_score": 1,
        },
        "Bare": {"symbol": "Bare", "name": "bare"},
    }
    with testing.serve_fake_sources(testing.FakeData(genes)) as server:
        one, bare = run_with_client(
            server,
            tmp_path,
            lambda client: asyncio.gather(
                ask(client, "gene_info", "One"), ask(client, "gene_info", "Bare")
            ),
        )
    assert (one.body["name"], one.body["go_bp"], one.body["kegg"]) == (None, ["x"], ["y"])
    assert (bare.body["name"], bare.body["go_bp"], bare.body["kegg"]) == ("bare", [], [])
    assert render(bare).text == "gene info, Bare: bare"


def test_protein_interactions(tmp_path: Path) -> None:
    partners = [Partner(f"P{number:02}", 400 + number) for number in range(40)]
    with testing.serve_fake_sources(
        testing.FakeData(partners={"Jak1": partners[::-1], "Alone": ()})
    ) as server:
        found, alone, unknown = (
            run_with_client(
                server,
                tmp_path,
                lambda client, name=name: ask(client, "protein_interactions", name),
            )
            for name in ("Jak1", "Alone", "Nobody")
        )
        assert {one.params["species"] for one in server.requests if "species" in one.params} == {
            "10090"
        }
    assert found.body["symbol"] == "Jak1"
    assert found.body["partners"][:2] == [
        {"symbol": "P39", "score": 439},
        {"symbol": "P38", "score": 438},
    ]
    assert len(found.body["partners"]) == 25
    assert (alone.status, unknown.status) == ("empty", "empty")


@pytest.mark.parametrize("name", ["gene_info", "protein_interactions"])
def test_another_case_is_found_and_said_and_another_name_is_not_taken(
    tmp_path: Path, name: str
) -> None:
    both = testing.fake_data(["Jak1", "JAK1", "Tp53", "TP53", "Stat1"], aliases={"Cd118": "Jak1"})
    with testing.serve_fake_sources(both) as server:
        exact, folded, several, alias = (
            run_with_client(
                server, tmp_path, lambda client, symbol=symbol: ask(client, name, symbol)
            )
            for symbol in ("Jak1", "STAT1", "tp53", "Cd118")
        )
    assert exact.body["symbol"] == "Jak1"
    assert "asked" not in exact.body
    assert (folded.body["symbol"], folded.body["asked"]) == ("Stat1", "STAT1")
    assert (several.status, several.body) == ("empty", {"ambiguous": ["TP53", "Tp53"]})
    assert (alias.status, alias.body) == ("empty", {})


def test_pathway_neighbours_pool_the_labels_in_view(tmp_path: Path) -> None:
    world = testing.FakeData(
        partners={"Jak1": [Partner("Stat1", 990), Partner("Irf1", 900), Partner("Cxcl10", 700)]}
    )
    view = all_training(PAIRS)
    with testing.serve_fake_sources(world) as server:
        found = run_with_client(
            server, tmp_path, lambda client: ask(client, "pathway_neighbours", "Jak1", view=view)
        )
    of_pack = asyncio.run(TOOLS["pathway_neighbours"].run("Jak1", None, PACKS, view))
    assert found.body == of_pack.body
    assert (
        found.source
        == f"STRING 12.0, retrieved {found.retrieved_at:%Y-%m-%d}; 9 labelled rows in view"
    )


async def everything(client: SourceClient, name: str, view: LabelView) -> list[Evidence]:
    """All that a tool says when it is asked about some symbols in every way it can be asked."""
    tool = TOOLS[name]
    spellings = [None, "Stat1", "STAT1", "Jak1", "Cxcl10", "Gm12345"]
    return [
        await tool.run(pert, gene, PACKS, view, client)
        for pert in (spellings if "pert" in tool.takes else [None])
        for gene in (spellings if "gene" in tool.takes else [None])
        if (given := sum(one is not None for one in (pert, gene))) == min(1, len(tool.takes))
        or (tool.takes_both and given == 2)
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", TOOLS)
def test_neither_answers_nor_requests_change_with_a_hidden_label(tmp_path: Path, name: str) -> None:
    flip = {row.pair_id: FLIPPED[row.label] for row in TRAINING[:3] if row.label}
    other = tuple(replace(row, label=flip.get(row.pair_id, row.label)) for row in PAIRS)
    said, sent = [], []
    for number, pairs in enumerate((PAIRS, other)):
        with testing.serve_fake_sources(WORLD) as server:
            view = blinded_view(pairs, EVALUATED)
            found = run_with_client(
                server,
                tmp_path / str(number),
                lambda client, view=view: everything(client, name, view),
                rate_factor=1_000.0,
            )
            said.append([replace(item, retrieved_at=None) for item in found])
            sent.append({(one.path, *sorted(one.params.items())) for one in server.requests})
    assert said[0] == said[1]
    assert sent[0] == sent[1]
    assert bool(sent[0]) == (name in LIVE)
    assert "error" not in {item.status for item in said[0]}


@pytest.mark.parametrize("name", [name for name in TOOLS if name not in LIVE])
def test_other_tools_are_the_same_with_public_sources(tmp_path: Path, name: str) -> None:
    view = all_training(PAIRS)

    async def without():
        return await everything(None, name, view)  # type: ignore[arg-type]

    with testing.serve_fake_sources(WORLD) as server:
        assert run_with_client(
            server, tmp_path, lambda client: everything(client, name, view)
        ) == asyncio.run(without())
        assert server.requests == []


@pytest.mark.few(3)
@pytest.mark.parametrize("name", LIVE)
def test_the_cache_alone_says_what_the_sources_said(tmp_path: Path, name: str) -> None:
    view = all_training(PAIRS)
    with testing.serve_fake_sources(WORLD) as server:
        live = run_with_client(server, tmp_path, lambda client: everything(client, name, view))
        came = len(server.requests)
        assert (
            run_with_client(
                server, tmp_path, lambda client: everything(client, name, view), "offline"
            )
            == live
        )
        assert len(server.requests) == came
    assert "ok" in {item.status for item in live}


def test_packs_alone_ask_nobody() -> None:
    found = asyncio.run(TOOLS["literature"].run("Jak1", "Il6", Packs(), NOTHING))
    assert (found.status, found.body, found.source) == (
        "offline",
        {},
        "PubMed: this run asks no public source",
    )
