from __future__ import annotations

from core.features.perturbqa.retrieval import GeneNames


def test_a_gene_is_looked_up_under_its_own_symbol_first_and_then_under_its_orthologs() -> None:
    names = GeneNames({"Stat1": "STAT1", "Ifi209": "IFI16", "Ifi203": "IFI16", "Cxcl15": "CXCL8"})
    assert names.of("IFI16") == ("IFI16", "Ifi203", "Ifi209")
    assert names.of("Cxcl8") == ("Cxcl8", "Cxcl15")
    assert names.of("STAT1") == ("STAT1",)  # tools look it up in any case
    assert names.of("Cxcl15") == ("Cxcl15",)
    assert GeneNames().of("IFI16") == ("IFI16",)
