from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embeddings.space import Space, make_space
from core.embeddings.symbol_matching import coverage, match_symbols

SYMBOLS = st.text("aAbB1", min_size=1, max_size=3)


def space_of(*symbols: str) -> Space:
    return make_space("s", symbols, np.arange(1, len(symbols) + 1)[:, None], "here")


def test_exact_before_case_before_ortholog() -> None:
    space = space_of("TP53", "Tp53", "KRAS", "C9orf85", "HLA-A")
    orthologs = {"1110059E24Rik": "C9ORF85", "Tp53": "KRAS", "H2-k1": "HLA-A", "Gone": "NOWHERE"}
    found = match_symbols(
        space, ["Tp53", "kras", "1110059E24Rik", "H2-K1", "Gone", "Other"], orthologs
    )
    assert found.index.tolist() == [1, 2, 3, 4, -1, -1]
    assert found.rules == ("exact", "case", "ortholog", "ortholog", None, None)
    assert (found.count("exact"), found.count("case"), found.count("ortholog")) == (1, 1, 2)
    assert found.coverage == 4 / 6
    assert dict(found.ambiguous) == {}


def test_several_spellings_are_reported_and_the_order_of_rows_decides_nothing() -> None:
    for space in (space_of("Tp53", "TP53", "tP53"), space_of("tP53", "TP53", "Tp53")):
        found = match_symbols(space, ["tp53", "X"], {"x": "tp53"})
        assert [space.symbols[i] for i in found.index] == ["TP53", "TP53"]
        assert dict(found.ambiguous) == {
            "tp53": ("TP53", "Tp53", "tP53"),
            "X": ("TP53", "Tp53", "tP53"),
        }


def test_a_symbol_spelled_as_wanted_is_never_ambiguous() -> None:
    assert dict(match_symbols(space_of("Tp53", "TP53"), ["Tp53"]).ambiguous) == {}


def test_nothing_wanted_has_no_coverage() -> None:
    assert math.isnan(match_symbols(space_of("A"), []).coverage)


@pytest.mark.soak
@given(
    symbols=st.lists(SYMBOLS, min_size=1, max_size=6, unique=True),
    wanted=st.lists(SYMBOLS, max_size=6),
    orthologs=st.dictionaries(SYMBOLS, SYMBOLS, max_size=4),
)
def test_matching_against_a_search_through_all_rows(
    symbols: list[str], wanted: list[str], orthologs: dict[str, str]
) -> None:
    found = match_symbols(space_of(*symbols), wanted, orthologs)
    for i, symbol in enumerate(wanted):
        alike = sorted(s for s in symbols if s.lower() == symbol.lower())
        row = found.index[i]
        if symbol in symbols:
            expected, rule = symbol, "exact"
        elif alike:
            expected, rule = alike[0], "case"
        else:
            keys = (
                [symbol]
                if symbol in orthologs
                else sorted(k for k in orthologs if k.lower() == symbol.lower())
            )
            there = sorted(s for s in symbols if keys and s.lower() == orthologs[keys[0]].lower())
            target = orthologs[keys[0]] if keys else ""
            expected = target if target in symbols else there[0] if there else None
            rule = "ortholog" if expected else None
        assert (symbols[row] if row >= 0 else None, found.rules[i]) == (expected, rule)
    assert found.covered.tolist() == [rule is not None for rule in found.rules]


def test_coverage_of_a_dataset() -> None:
    # rows: (A, x) (A, B) (q, B) (q, x); distinct perturbations A q, genes x B
    found = coverage(space_of("a", "B"), ["A", "A", "q", "q"], ["x", "B", "B", "x"])
    assert (found.perts, found.genes) == (0.5, 0.5)
    assert (found.rows_by_pert, found.rows_by_gene, found.rows_by_both) == (0.5, 0.5, 0.25)


def test_coverage_is_of_distinct_genes_and_of_rows() -> None:
    found = coverage(space_of("G"), ["p", "p", "p"], ["G", "G", "h"])
    assert (found.perts, found.genes, found.rows_by_gene) == (0.0, 0.5, pytest.approx(2 / 3))
    assert math.isnan(coverage(space_of("G"), [], []).genes)
