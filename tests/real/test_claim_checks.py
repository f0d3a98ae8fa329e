"""What the published packs know of claims."""

from __future__ import annotations

import random
from pathlib import Path

from core.evidence.knowledge_packs import read_knowledge_path
from core.features.arguments.claims import Claim, Knowledge, narrow_pathways


def test_reactome_supports_shared_pathways_and_contradicts_nothing(shared_data: Path) -> None:
    pack = read_knowledge_path(shared_data / "knowledge" / "gene_reactome.json")
    narrow = narrow_pathways(pack.entries)
    assert not any(
        "Immune System" in of_gene for of_gene in narrow.values()
    )  # 414 of 1,420 genes are in it
    known = Knowledge(pathways={"gene_reactome": narrow})
    assert known.check(Claim("Ccnd1", "acts with", "CCND2")).status == "supported"
    assert (
        "both in Cyclin D associated events in G1"
        in known.check(Claim("Ccnd1", "acts with", "Ccnd2")).entry
    )
    assert known.check(Claim("Ccnd1", "activates", "Ccnd2")).status == "not known"
    assert known.check(Claim("Comt", "acts with", "Ccnd2")) == ("not known", "", "")
    genes, rng = sorted(pack.entries), random.Random(0)
    by_chance = [
        known.check(Claim(a, "acts with", b)).status
        for a, b in (rng.sample(genes, 2) for _ in range(4_000))
    ]
    assert set(by_chance) == {"supported", "not known"}
    assert 0.03 < by_chance.count("supported") / len(by_chance) < 0.06
