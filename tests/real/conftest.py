"""Knowledge packs of the published files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.datasets import knowledge_packs
from core.evidence.packs import Packs, Source

FILES = {
    "descriptions": ("gene_desc", "texts"),
    "orthologs": ("mouse_to_human_ortholog", "symbols"),
    "pathways": ("gene_reactome", "names"),
    "edges": ("string_edges", "edges"),
    "signs": ("collectri_mouse_signed", "signs"),
    "responses": ("hagai_lps_prior", "genes"),
}


@pytest.fixture(scope="session")
def packs(shared_data: Path) -> Packs:
    found = {
        name: knowledge_packs.read_knowledge_path(shared_data / "knowledge" / f"{file}.json") for name, (file, _) in FILES.items()
    }
    sources: Any = {name: Source(FILES[name][0], pack.sha256) for name, pack in found.items()}
    return Packs(**{name: getattr(pack, FILES[name][1]) for name, pack in found.items()}, sources=sources)
