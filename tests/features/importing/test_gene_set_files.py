"""Files of gene sets as knowledge packs. Other formats are tested where they are imported."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.base.errors import InputError
from core.features.importing.files import PackFile, recognise


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
