from __future__ import annotations

import pickle

from core.evidence.packs import Packs, Partner, Regulated, Source, Table
from tests.evidence.world import PACKS, SOURCES


def test_a_source_shows_the_first_twelve_characters_of_its_hash() -> None:
    assert str(Source("STRING", "0123456789abcdef" * 4)) == "STRING, sha256 0123456789ab"
    assert PACKS.partner_table.source == str(SOURCES["edges"])


def test_partners_stand_on_both_ends_best_first_and_level_ones_by_symbol() -> None:
    packs = Packs(edges=[("B", "A", 800), ("A", "D", 900), ("C", "A", 900)], sources=SOURCES)
    assert packs.partner_table.entries["A"] == (
        Partner("C", 900),
        Partner("D", 900),
        Partner("B", 800),
    )
    assert packs.partner_table.entries["B"] == (Partner("A", 800),)


def test_regulators_by_target() -> None:
    assert PACKS.regulator_table.entries["Cxcl10"] == (
        Regulated("Bcl6", -1), Regulated("Irf1", 1), Regulated("Spi1", 0), Regulated("Stat1", 1),
    )  # fmt: skip


def test_pathways_with_the_fewest_genes_come_first() -> None:
    assert PACKS.pathway_table.entries["Il6"] == ("Interleukin-6 signaling", "Immune System")


def test_what_is_not_there_is_said() -> None:
    packs = Packs()
    tables = (
        packs.description_table,
        packs.ortholog_table,
        packs.pathway_table,
        packs.partner_table,
        packs.regulator_table,
        packs.lps_table,
    )
    assert not any(table.present for table in tables)
    assert packs.partner_table.source == "knowledge pack edges: none for this run"


def test_packs_travel_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(PACKS)).partner_table.entries == PACKS.partner_table.entries


TABLE = Table({"Tp53": 1, "TP53": 2, "Il6": 3}, "tests")


def test_the_symbol_itself_wins_over_other_cases() -> None:
    assert TABLE.spellings("Tp53") == ("Tp53",)
    assert TABLE.spellings("TP53") == ("TP53",)


def test_else_every_spelling_that_differs_in_case_only() -> None:
    assert TABLE.spellings("IL6") == ("Il6",)
    assert TABLE.spellings("tp53") == ("TP53", "Tp53")


def test_nothing_is_guessed() -> None:
    assert TABLE.spellings("Il-6") == TABLE.spellings("Il") == TABLE.spellings("Trp53") == ()
