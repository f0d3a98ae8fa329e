from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError, UnknownFormat
from core.evidence.knowledge_packs import (
    Pack,
    read_knowledge,
    read_knowledge_path,
)
from core.evidence.packs import Response

META = {"source": "somewhere"}
LPS = {"logfc": 0.5, "p_value": 0.0, "p_adj": 1, "mean_lps": 2.0, "mean_ctrl": 0}


def read(found: object) -> Pack:
    return read_knowledge(json.dumps(found).encode(), "pack.json")


def test_descriptions() -> None:
    pack = read({"NA": "A kinase.", "B": "", "A": "Binds things"})
    assert pack.kind == "descriptions"
    assert list(pack.entries.items()) == [("NA", "A kinase."), ("B", ""), ("A", "Binds things")]


def test_orthologs() -> None:
    pack = read({"1110059E24Rik": "C9orf85", "H2-K1": "HLA-A"})
    assert pack.kind == "orthologs"
    assert pack.entries == {"1110059E24Rik": "C9orf85", "H2-K1": "HLA-A"}


def test_proteins() -> None:
    pack = read({"Klf6": "ENSMUSP00000000080", "TP53": "ENSP00000269305"})
    assert pack.kind == "proteins"
    assert pack.entries == {"Klf6": "ENSMUSP00000000080", "TP53": "ENSP00000269305"}


def test_pathways() -> None:
    pack = read({"A": ["Cell Cycle", "Mitosis"], "B": []})
    assert pack.kind == "pathways"
    assert pack.entries == {"A": ("Cell Cycle", "Mitosis"), "B": ()}


def test_a_network_names_each_pair_once() -> None:
    pack = read([["B", "A", 700], ["A", "B", 900], ["A", "B", 800], ["C", "C", 999], ["C", "A", 1]])
    assert pack.kind == "network"
    assert pack.entries == (("A", "B", 900), ("A", "C", 1))


def test_regulation() -> None:
    pack = read({"meta": META, "pairs": {"Myc|Tert": 1, "Myc|B": -1, "A|B": 0}})
    assert pack.kind == "regulation"
    assert (pack.source, pack.entries) == (
        "somewhere",
        {("Myc", "Tert"): 1, ("Myc", "B"): -1, ("A", "B"): 0},
    )


def test_lps_responses() -> None:
    pack = read({"meta": META, "prior": {"A": LPS}})
    assert pack.kind == "lps_response"
    assert (pack.source, pack.entries) == ("somewhere", {"A": Response(0.5, 0.0, 1.0, 2.0, 0.0)})


def test_the_hash_is_of_the_bytes(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf{"A": "a gene"}'
    (tmp_path / "x").write_bytes(content)
    assert read_knowledge_path(tmp_path / "x").sha256 == hashlib.sha256(content).hexdigest()
    with pytest.raises(InputError, match="cannot be read"):
        read_knowledge_path(tmp_path / "none")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({"A": "a gene", "B": 1}, "'B' has '1', expected text"),
        ({"A": "a gene", "": "no gene"}, "'' has 'no gene', expected text"),
        ({"A": "X", "B": ""}, "'B' has '', expected a gene symbol"),
        ({"A": "X", "C": "Z", "B": "two words"}, "'B' has 'two words', expected a gene symbol"),
        (
            {"A": "ENSP00000269305", "B": "ENSP00000269306", "C": "x"},
            "'C' has 'x', expected an Ensembl protein id",
        ),
        ({"A": ["p"], "B": "p"}, "'B' has 'p', expected a list of pathways"),
        ({"A": ["p"], "B": [1]}, "expected a list of pathways"),
        ([["A", "B", 5], ["A", "B"]], "edge 2 is"),
        ([["A", "B", 0]], "edge 1 is"),
        ([["A", "B", 1001]], "score in 1–1000"),
        ([["A", "B", True]], "edge 1 is"),
        ([["A", "", 5]], "edge 1 is"),
        ({"meta": {}, "pairs": {"A|B": 1}}, "'meta' has no 'source'"),
        ({"meta": META, "pairs": {"AB": 1}}, "'AB' has 1, expected factor|target"),
        ({"meta": META, "pairs": {"A|B|C": 1}}, r"'A\|B\|C' has 1"),
        ({"meta": META, "pairs": {"A|B": 2}}, "has 2, expected"),
        ({"meta": META, "pairs": {"A|B": True}}, "has True, expected"),
        (
            {"meta": META, "prior": {"A": {**LPS, "logfc": None}}},
            "'A' has .*expected finite numbers logfc",
        ),
        ({"meta": META, "prior": {"A": [1]}}, "expected finite numbers"),
        (
            {"meta": META, "prior": {"A": {**LPS, "logfc": 10**400}}},
            "expected finite numbers",
        ),  # too large for a float
        ({"meta": META, "prior": {"A": {**LPS, "p_adj": 1.5}}}, "p-values in"),
        ({"meta": META, "prior": {"A": {**LPS, "mean_ctrl": -1}}}, "means of at least 0"),
    ],
)
def test_a_wrong_entry_is_named(found: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(found)
    assert str(caught.value).startswith("pack.json: ")
    assert not isinstance(caught.value, UnknownFormat)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b"1",
        b'{"A": 1}',
        b'{"A": {"b": 1}}',
        b'["A"]',
        b'{"A": null}',
    ],
)
def test_no_knowledge_pack(content: bytes) -> None:
    with pytest.raises(UnknownFormat, match="expected descriptions, orthologs"):
        read_knowledge(content, "x.json")


def test_a_key_that_stands_there_twice_and_a_number_that_is_none() -> None:
    with pytest.raises(InputError, match="x: 'A' stands there twice"):
        read_knowledge(b'{"A": "a b", "B": "c d", "A": "e f"}', "x")
    with pytest.raises(InputError, match="x: the number NaN, expected finite"):
        read_knowledge(b'{"meta": {"source": "s"}, "prior": {"A": {"logfc": NaN}}}', "x")
    with pytest.raises(InputError, match="expected finite numbers"):
        read_knowledge(
            json.dumps({"meta": META, "prior": {"A": LPS}}).replace("0.5", "1e999").encode(), "x"
        )


def test_half_of_a_surrogate_pair_is_refused_and_a_whole_one_read() -> None:
    with pytest.raises(InputError, match=r"x: half of a surrogate pair .*, expected whole"):
        read_knowledge(b'{"A": "a \\ud83d"}', "x")
    assert read_knowledge(b'{"A": "a \\ud83d\\ude00"}', "x").kind == "descriptions"


@pytest.mark.soak
@given(
    st.lists(
        st.tuples(st.sampled_from("ABCD"), st.sampled_from("ABCD"), st.integers(1, 1000)),
        min_size=1,
    )
)
def test_networks_against_a_search_through_all_edges(edges: list[tuple[str, str, int]]) -> None:
    pack = read(edges)
    assert pack.kind == "network"
    pairs = {frozenset(edge[:2]) for edge in edges if edge[0] != edge[1]}
    best = {pair: max(score for a, b, score in edges if {a, b} == pair) for pair in pairs}
    assert {frozenset((a, b)): score for a, b, score in pack.entries} == best
    assert len(pack.entries) == len(best)
