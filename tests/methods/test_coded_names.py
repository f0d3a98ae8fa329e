"""Coded names: no name of a row is sent, whichever way a text spells it, and what comes back names the row's genes again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.base.types import Pair
from core.evidence.packs import Packs, Source
from core.methods.coded_names import CODED, HIDDEN, SWAPPED, GeneNaming, count_leaks

ROWS = tuple(
    Pair(f"{pert}_{gene}", pert, gene, None, "train")
    for pert, gene in (
        ("Stat1", "Irf8"),
        ("Il6", "H2-Aa"),
        ("Set", "Stat10"),
        ("Tnf", "Nkx2-5"),
        ("a-b/c", "Was"),
    )
)
SOURCE = Source("made up", "0" * 64)
PACKS = Packs(
    descriptions={
        "Stat1": "[no summary] signal transducer and activator of transcription 1",
        "Jak2": "A kinase that acts on Stat1.",
    },
    orthologs={"Stat1": "STAT1", "Irf8": "IRF8B"},
    edges=[("Stat1", "Jak2", 900), ("Jak1", "Jak2", 900)],
    sources={"descriptions": SOURCE, "orthologs": SOURCE, "edges": SOURCE},
)
TEXT = (
    "Stat1, STAT1, stat1, pSTAT1 and STAT1-dependent genes; anti-Stat1. Its full name: Signal transducer and activator of "
    "transcription 1. IRF8B is Irf-8 here. Stat10 and Stat11 are others; Jak2 binds it."
)


def test_every_spelling_of_a_gene_is_one_code() -> None:
    names = GeneNaming(CODED, ROWS, PACKS).of_row(ROWS[0])
    coded = names.encode(TEXT)
    code = names.encode("Stat1")
    assert coded.count(code) == 7
    assert f"p{code} and {code}-dependent genes; anti-{code}." in coded
    assert names.encode("IRF8B") == names.encode("Irf-8") == names.encode("irf8")
    assert "Jak2" not in coded
    assert "Stat11" in coded  # no gene of the dataset or of a pack
    assert names.decode(f"{code.lower()} acts on {names.encode('Irf8')}.") == "Stat1 acts on Irf8."


def test_common_words_are_names_only_in_their_own_row() -> None:
    naming = GeneNaming(CODED, ROWS, PACKS)
    assert naming.of_row(ROWS[0]).encode("a set that was there") == "a set that was there"
    assert "set" not in naming.of_row(ROWS[2]).encode("a set that was there")
    assert "a-b/c" not in naming.of_row(ROWS[4]).encode("of A-B/C, a-b/c")


def test_hidden_names_are_those_of_the_row() -> None:
    coded = GeneNaming(HIDDEN, ROWS, PACKS).of_row(ROWS[0]).encode(TEXT)
    assert "Jak2" in coded
    assert "Stat10" in coded
    assert "transducer" not in coded


def test_swapped_names_are_never_their_own_and_come_back() -> None:
    naming = GeneNaming(SWAPPED, ROWS, PACKS)
    for row in ROWS:
        names = naming.of_row(row)
        for symbol in (row.pert, row.gene):
            shown = names.encode(symbol)
            assert shown.casefold() != symbol.casefold()
            assert names.decode(shown) == symbol
    perts = {row.pert for row in ROWS}
    assert {naming.of_row(row).encode(row.pert) for row in ROWS} == perts


def test_what_cannot_be_coded_is_refused() -> None:
    rows = (*ROWS, Pair("one", "a", "Irf8", None, "train"))
    with pytest.raises(InputError, match="cannot be coded"):
        GeneNaming(CODED, rows, PACKS).of_row(rows[-1])
    with pytest.raises(InputError, match="looks like a code"):
        GeneNaming(CODED, [Pair("x", "Gene00012", "Irf8", None, "train")], PACKS)


PARTS = [
    "Stat1",
    "sTAT1",
    "Il6",
    "H2-AA",
    "set",
    "NKX2-5",
    "a-b/c",
    "was",
    "-",
    " ",
    ".",
    "(",
    "_",
    "/",
    "p",
    "x",
]


@given(st.lists(st.sampled_from(PARTS)))
def test_no_name_of_the_row_is_left_in_any_text(parts: list[str]) -> None:
    for kind in (CODED, HIDDEN):
        naming = GeneNaming(kind, ROWS, PACKS)
        for row in ROWS:
            coded = naming.of_row(row).encode("".join(parts))
            assert count_leaks([coded], naming.spellings_of(row)) == 0, (coded, row)
