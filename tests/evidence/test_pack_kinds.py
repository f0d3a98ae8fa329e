"""What a JSON file of knowledge is, and whose genes it is about."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError, UnknownFormat
from core.evidence.knowledge_packs import Pack, is_symbol, kind_of, organism_of, read_knowledge

META = {"source": "somewhere"}
MOUSE = ("Stat1", "Il6", "H2-K1", "1110059E24Rik", "mt-Nd1", "Gm12345", "Fas")
HUMAN = ("STAT1", "IL6", "HLA-A", "C9orf85", "MT-ND6", "LOC100130417", "FAS")
LPS = {"logfc": 0.5, "p_value": 0.0, "p_adj": 1, "mean_lps": 2.0, "mean_ctrl": 0}
# Other files of JSON that people keep beside packs, in the shapes that are published with data sets of perturbations.
NO_PACKS = {
    "gene sets by number and name": {
        "1-mitochondrial respiratory chain": ["MT-ND6", "MT-CO2"],
        "2-unfolded protein response": ["HSPA5", "HERPUD1"],
        "7": [],
    },
    "gene sets by short names": {"ISR": ["Atf4", "Ddit3", "Trib3"], "UPR": ["Hspa5", "Fas"]},
    "gene sets by names in capitals": {
        "HALLMARK_APOPTOSIS": ["BAX"],
        "HALLMARK_HYPOXIA": ["VEGFA"],
    },
    "sets as objects": [{"genes": ["AMMECR1", "RAB4B"], "label": None}],
    "a split of conditions": {"train_conditions": ["CKS1B"], "test_conditions": [], "seed": 42},
    "a split by capitals": {"TRAIN": ["CKS1B", "JUN"], "TEST": ["FOXO4"]},
    "labels by gene": {"Stat1": "up", "Irf1": "down", "Il6": "none"},
    "clusters by gene": dict.fromkeys(("Stat1", "Irf1", "Il6", "Fas"), "K1") | {"Bax": "K2"},
    "numbers by gene": {"Stat1": 1.5, "Irf1": 2},
    "settings": {"name": "A run of mine", "path": "somewhere else", "notes": "none so far"},
    "sentences": {"this is no gene": "and this no description"},
    "a table of numbers": [[1, 2, 3], [4, 5, 6]],
    "a list of genes": ["Stat1", "Irf1"],
    "a bare text": "Stat1",
    "nothing": {},
}


@pytest.mark.parametrize("what", NO_PACKS)
def test_what_is_no_pack_is_unknown_and_shown(what: str) -> None:
    with pytest.raises(UnknownFormat) as caught:
        read_knowledge(json.dumps(NO_PACKS[what]).encode(), "x.json")
    shown = json.dumps(NO_PACKS[what])[:20]
    assert f"x.json: JSON that is no knowledge pack, '{shown}" in str(caught.value)
    assert "; expected descriptions, orthologs, proteins, pathways" in str(caught.value)


def packs_of(symbols: tuple[str, ...], prefix: str) -> dict[str, Any]:
    """One file of each kind about these symbols."""
    a, b, *rest = symbols
    return {
        "descriptions": {symbol: f"A gene called {symbol}." for symbol in symbols},
        "orthologs": {symbol: symbol.swapcase() for symbol in symbols},
        "proteins": {symbol: f"{prefix}{i:011}" for i, symbol in enumerate(symbols)},
        "pathways": {
            symbol: ["Hemostasis", "Signaling by WNT", "R-MMU-109581", "GO:0006915", "mmu04110"]
            for symbol in symbols
        },
        "network": [[a, b, 900], *([a, other, 500] for other in rest)],
        "regulation": {"meta": META, "pairs": {f"{a}|{other}": 1 for other in (b, *rest)}},
        "lps_response": {"meta": META, "prior": dict.fromkeys(symbols, LPS)},
    }


@pytest.mark.parametrize(
    ("symbols", "prefix", "organism"), [(MOUSE, "ENSMUSP", "mouse"), (HUMAN, "ENSP", "human")]
)
def test_every_kind_is_recognised_in_any_order_and_has_an_organism(
    symbols: tuple[str, ...], prefix: str, organism: str
) -> None:
    for kind, content in packs_of(symbols, prefix).items():
        backwards = content[::-1] if isinstance(content, list) else dict(reversed(content.items()))
        for each in (content, backwards):
            pack = read_knowledge(json.dumps(each).encode(), "x")
            assert (pack.kind, pack.organism) == (kind, organism)


@pytest.mark.parametrize("first", [True, False])
def test_one_odd_entry_is_an_error_that_names_it_and_no_other_kind(first: bool) -> None:
    content = {symbol: ["Cell Cycle"] for symbol in MOUSE}
    odd = {"Stat2": "Cell Cycle"}
    with pytest.raises(
        InputError, match="'Stat2' has 'Cell Cycle', expected a list of pathways"
    ) as caught:
        read_knowledge(json.dumps(odd | content if first else content | odd).encode(), "x")
    assert not isinstance(caught.value, UnknownFormat)


@pytest.mark.parametrize(
    ("symbols", "organism"),
    [
        (MOUSE, "mouse"),
        (HUMAN, "human"),
        ((), ""),
        (("C3", "T", "11"), ""),  # as mice and people both write them
        ((*MOUSE, "AW554918"), "mouse"),
        ((*MOUSE, *HUMAN), ""),
        (("ENSMUSP00000000080",), "mouse"),
        (("ENSP00000269305",), "human"),
        (("ENSRNOP00000000080",), ""),
        (("ENSMUSG00000026104", "ENSMUSG00000018899.3"), "mouse"),
        (("ENSG00000115415.20", "ENST00000361099"), "human"),
    ],
)
def test_organisms(symbols: tuple[str, ...], organism: str) -> None:
    assert organism_of(symbols) == organism


@pytest.mark.parametrize("symbol", [*MOUSE, *HUMAN, "RP11-34P13.7", "3.8-1.2"])
def test_symbols(symbol: str) -> None:
    assert is_symbol(symbol)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "seed",
        "two words",
        "train_conditions",
        "Cell Cycle",
        "GO:0006915",
        "A" * 31,
        "Stat1 ",
        "-",
    ],
)
def test_no_symbols(text: str) -> None:
    assert not is_symbol(text)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_json_is_a_pack_or_an_error_of_input(content: Any) -> None:
    kind = kind_of(content)
    raised = read_or_error(content)
    if kind is None:
        assert isinstance(raised, UnknownFormat)
    elif not isinstance(raised, InputError):
        assert raised.kind == kind
        assert raised.organism in ("mouse", "human", "")


def read_or_error(content: Any) -> Pack | InputError:
    try:
        return read_knowledge(json.dumps(content).encode(), "x")
    except InputError as error:
        return error
