"""What two splits share: each rule by hand, and against set operations."""

from __future__ import annotations

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from core.features.leakage.shared_symbols import (
    Paralogs,
    SymbolTables,
    compare_splits,
    find_shared_symbols,
)

NOTHING = SymbolTables()


def test_each_gene_is_shared_by_one_rule() -> None:
    tables = SymbolTables(proteins={"Il8rb": "P1", "Cxcr2": "P1", "Tnf": "P2", "Tnfa": "P2"})
    found = find_shared_symbols(
        ["Tnf", "Il6", "Cxcr2", "Cd9"], ["Tnf", "IL6", "Il8rb", "Tnfa", "Jak1"], tables
    )
    assert found.exact == ("Tnf",)
    assert found.other_case == (("Il6", "IL6"),)
    assert found.aliases == (
        ("Cxcr2", "Il8rb"),
    )  # Tnfa is an alias of Tnf, which is shared as it is
    assert len(found) == 3
    assert found.keys() == {"tnf", "il6", "cxcr2"}
    assert found.examples() == "Tnf, Il6 = IL6, Cxcr2 = Il8rb"


def test_a_spelling_that_is_shared_goes_before_one_in_another_case() -> None:
    found = find_shared_symbols(["Tnf", "TNF"], ["TNF", "tnf"], NOTHING)
    assert (found.exact, found.other_case) == (("TNF",), ())


def test_a_protein_with_three_names_makes_no_alias() -> None:
    """Which of them is meant cannot be told."""
    tables = SymbolTables(proteins={"Aa": "P1", "Bb": "P1", "Cc": "P1"})
    assert len(find_shared_symbols(["Aa"], ["Bb"], tables)) == 0


def test_an_alias_is_found_in_any_case() -> None:
    tables = SymbolTables(proteins={"Il8rb": "P1", "Cxcr2": "P1"})
    assert find_shared_symbols(["CXCR2"], ["il8RB"], tables).aliases == (("CXCR2", "il8RB"),)


def test_genes_with_one_ortholog_are_paralogs_and_not_shared() -> None:
    orthologs = {
        "Ifi209": "IFI16",
        "Ifi203": "IFI16",
        "Mndal": "IFI16",
        "Ifi205": "IFI16",
        "Tnf": "TNF",
    }
    found = find_shared_symbols(
        ["Ifi205", "Tnf"], ["Ifi209", "Ifi203", "Mndal", "Cd9"], SymbolTables(orthologs=orthologs)
    )
    assert len(found) == 0
    assert found.paralogs == (Paralogs("IFI16", ("Ifi205",), ("Ifi203", "Ifi209", "Mndal")),)


def test_any_two_splits_are_compared_in_the_same_role() -> None:
    rows = pd.DataFrame(
        {
            "split": ["train", "train", "test", "val"],
            "pert": ["Pa", "Pb", "Pc", "Pb"],
            "gene": ["Ga", "Pc", "ga", "Gz"],
            "label": ["up", None, None, "none"],
        }
    )
    found = compare_splits(rows, NOTHING)
    assert [(pair.a, pair.b, len(pair.perts), len(pair.genes)) for pair in found] == [
        ("train", "test", 0, 1),
        ("train", "val", 1, 0),
        ("test", "val", 0, 0),
    ]


def test_a_dataset_of_one_split_shares_nothing() -> None:
    assert (
        compare_splits(pd.DataFrame({"split": ["train"], "pert": ["Pa"], "gene": ["Ga"]}), NOTHING)
        == []
    )


SYMBOLS = st.sets(st.text("aAbBß", min_size=1, max_size=3))


@given(SYMBOLS, SYMBOLS)
def test_shared_in_any_case_is_an_intersection(a: set[str], b: set[str]) -> None:
    found = find_shared_symbols(a, b, NOTHING)
    assert found.keys() == {name.casefold() for name in a} & {name.casefold() for name in b}
    assert set(found.exact) <= a & b
    assert {name.casefold() for name in found.exact} == {name.casefold() for name in a & b}
    assert len(found) == len(find_shared_symbols(b, a, NOTHING))
