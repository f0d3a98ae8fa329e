from __future__ import annotations

import pytest

from core.base.texts import symbol_kind
from core.evidence.label_view import LabelView
from core.evidence.packs import Packs
from core.evidence.registry import TOOLS
from core.evidence.tools.gene_class import PROGRAMS, program_of
from tests.evidence.world import run

RIBOSOME, BIOGENESIS = "ribosomal proteins", "ribosome biogenesis"


def flags(symbol: str) -> dict[str, object]:
    found = run(TOOLS["gene_class"], None, symbol, Packs(), LabelView(()))
    assert found.status == "ok"
    return dict(found.body)


@pytest.mark.parametrize(
    ("symbol", "kind"),
    [
        ("1110059E24Rik", "RIKEN clone"),
        ("9930111J21Rik2", "RIKEN clone"),
        ("Gm12345", "gene model"),
        ("AW112010", "accession"),
        ("BC049762", "accession"),
        ("LOC100038947", "locus"),
        ("ENSMUSG00000064351", "accession"),
        ("4931406", "accession"),
    ],
)
def test_provisional_symbols(symbol: str, kind: str) -> None:
    unknown = {"program": None, "expected": None}
    assert flags(symbol) == {"symbol": symbol, "naming": kind, "uncharacterised": True, **unknown}


@pytest.mark.parametrize("symbol", ["Gmnn", "Grik1", "Bcl2", "AI4", "Gmfb", "Lonp1"])
def test_named_symbols(symbol: str) -> None:
    assert flags(symbol)["uncharacterised"] is False


@pytest.mark.parametrize(
    ("symbol", "program", "expected"),
    [
        ("Ddit3", "integrated stress response", "up"),
        ("Asns", "integrated stress response", "up"),
        ("Cdkn1a", "p53 response", "up"),
        ("Rps27l", "p53 response", "up"),  # looks like a ribosomal protein
        ("Rpl13a", RIBOSOME, "down"),
        ("Rps4x", RIBOSOME, "down"),
        ("Rpl36al", RIBOSOME, "down"),
        ("Rps3a1", RIBOSOME, "down"),
        ("Mrpl12", RIBOSOME, "down"),
        ("Mrps18b", RIBOSOME, "down"),
        ("Rplp0", RIBOSOME, "down"),
        ("Rrp9", BIOGENESIS, "down"),
        ("Fbl", BIOGENESIS, "down"),
        ("Mki67", "cell cycle", "down"),
        ("Rps6ka1", None, None),  # a kinase
        ("Rps6kb2", None, None),
        ("Rpl10-ps3", None, None),  # a pseudogene
        ("Rps19bp1", None, None),
        ("Stat1", None, None),
    ],
)
def test_programs(symbol: str, program: str | None, expected: str | None) -> None:
    found = flags(symbol)
    assert (found["program"], found["expected"], found["symbol"]) == (program, expected, symbol)


@pytest.mark.parametrize(
    ("asked", "listed"), [("DDIT3", "Ddit3"), ("RPL13A", "Rpl13a"), ("mrps2", "Mrps2")]
)
def test_another_case_is_said(asked: str, listed: str) -> None:
    assert (flags(asked)["symbol"], flags(asked)["asked"]) == (listed, asked)
    assert "asked" not in flags(listed)


def test_a_gene_is_in_one_program_at_most_and_well_named() -> None:
    listed = [gene for program in PROGRAMS for gene in program.genes]
    assert len(listed) == len({gene.casefold() for gene in listed})
    assert all(symbol_kind(gene) == "named" and gene[0].isupper() for gene in listed)
    assert all(
        program_of(gene) == (gene, program) for program in PROGRAMS for gene in program.genes
    )


def test_stress_and_p53_go_up_and_growth_goes_down() -> None:
    directions = {program.name: program.expected for program in PROGRAMS}
    up, down = (
        sorted(name for name, way in directions.items() if way == each) for each in ("up", "down")
    )
    assert (up, down) == (
        ["integrated stress response", "p53 response"],
        ["cell cycle", RIBOSOME, BIOGENESIS],
    )
