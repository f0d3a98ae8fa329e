from __future__ import annotations

import pickle

import pytest

from core.errors import InputError
from core.evidence.packs import Packs, Partner, Regulator, Source
from tests.evidence.world import PACKS, SOURCES


def test_a_pack_needs_a_source() -> None:
    with pytest.raises(InputError, match="knowledge packs: edges, signs without a source, expected a name and a SHA-256"):
        Packs(descriptions={"Il6": "x"}, edges=[], signs={}, sources={"descriptions": SOURCES["descriptions"]})


def test_a_source_shows_the_first_twelve_characters_of_its_hash() -> None:
    assert str(Source("STRING", "0123456789abcdef" * 4)) == "STRING, sha256 0123456789ab"
    assert PACKS.partner_table.source == str(SOURCES["edges"])


def test_partners_stand_on_both_ends_best_first_and_level_ones_by_symbol() -> None:
    packs = Packs(edges=[("B", "A", 800), ("A", "D", 900), ("C", "A", 900)], sources=SOURCES)
    assert packs.partner_table.entries["A"] == (Partner("C", 900), Partner("D", 900), Partner("B", 800))
    assert packs.partner_table.entries["B"] == (Partner("A", 800),)


def test_regulators_by_target() -> None:
    assert PACKS.regulator_table.entries["Cxcl10"] == (
        Regulator("Bcl6", -1), Regulator("Irf1", 1), Regulator("Spi1", 0), Regulator("Stat1", 1),
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
    assert packs.partner_table.source == "knowledge pack edges: not in this workspace"


def test_packs_travel_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(PACKS)).partner_table.entries == PACKS.partner_table.entries
