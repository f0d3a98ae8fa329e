"""Files of publishers as knowledge packs: OmniPath's interactions. Other formats are tested where they are imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.base.errors import InputError
from core.features.importing.files import PackFile, recognise

HEADER = (
    "source", "target", "source_genesymbol", "target_genesymbol", "is_directed", "is_stimulation", "is_inhibition", "sources",
)  # fmt: skip


def interactions(*rows: str) -> str:
    lines = [["P", "Q", *row.split(), "SIGNOR"] for row in rows]
    return "\n".join("\t".join(line) for line in (HEADER, *lines)) + "\n"


def test_omnipath_is_a_pack_of_signed_signalling(tmp_path: Path) -> None:
    file = tmp_path / "interactions.tsv"
    file.write_text(
        interactions(
            "Map2k1 Mapk1 True True False",
            "Ptpn1 Jak2 True False True",
            "Tp53 Mdm2 1 1 1",
            "Akt1 Akt1 True True False",  # of a gene with itself
            "Egfr Grb2 False False False",  # without a direction
            "Mapk1 Elk1 True True False",
            "Mapk1 Elk1 True False True",  # another line says the opposite
        )
    )
    found = recognise(file)
    assert isinstance(found, PackFile)
    signs = {
        ("Map2k1", "Mapk1"): 1,
        ("Ptpn1", "Jak2"): -1,
        ("Tp53", "Mdm2"): 0,
        ("Mapk1", "Elk1"): 0,
    }
    assert (found.pack.kind, found.pack.source, found.pack.entries) == (
        "signalling",
        "OmniPath",
        signs,
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("A1 B1 yes True False", "line 2: 'yes', expected True or False"),
        ("A1 B1 True True", "line 2: 7 columns, expected 8"),
        ("A1 B1 False True False", "no directed interaction between two genes"),
    ],
)
def test_lines_that_are_no_interactions(tmp_path: Path, row: str, said: str) -> None:
    file = tmp_path / "interactions.tsv"
    file.write_text(interactions(row))
    with pytest.raises(InputError, match=said):
        recognise(file)


def test_sets_named_after_their_regulator_are_sets(tmp_path: Path) -> None:
    file = tmp_path / "regulons.gmt"
    file.write_text("STAT1\thttp://x\tGBP2\tIRF1\nIRF1\thttp://x\tGBP2\n")
    found = recognise(file)
    assert isinstance(found, PackFile)
    assert found.pack.entries == {"GBP2": ("STAT1 (set)", "IRF1 (set)"), "IRF1": ("STAT1 (set)",)}  # type: ignore[union-attr]


@pytest.mark.parametrize(("gene", "kind"), [("{}", "numbers"), ("ENSG0000010{}", "Ensembl")])
def test_sets_of_identifiers_are_refused_by_name(tmp_path: Path, gene: str, kind: str) -> None:
    file = tmp_path / "sets.gmt"
    file.write_text(
        "HALLMARK_A\thttp://x\t" + "\t".join(gene.format(i) for i in range(1000, 1009)) + "\n"
    )
    with pytest.raises(InputError, match=kind):
        recognise(file)
