"""Knowledge packs and rows of the published files, and failing inputs of the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.base.types import Pair
from core.evidence import knowledge_packs
from core.evidence.packs import Packs, Source
from core.features.importing.pairs import PairTable
from core.features.importing.reader import read_path
from tests.conftest import SHARED_DATA

FIELD = SHARED_DATA.parent / "field"
needs_field = pytest.mark.skipif(not FIELD.is_dir(), reason=f"needs the failing inputs in {FIELD}")

FILES = {
    "descriptions": "gene_desc",
    "orthologs": "mouse_to_human_ortholog",
    "pathways": "gene_reactome",
    "edges": "string_edges",
    "signs": "collectri_mouse_signed",
    "responses": "hagai_lps_prior",
}


@pytest.fixture(scope="session")
def packs(shared_data: Path) -> Packs:
    found = {
        name: knowledge_packs.read_knowledge_path(shared_data / "knowledge" / f"{file}.json")
        for name, file in FILES.items()
    }
    sources = {name: Source(FILES[name], pack.sha256) for name, pack in found.items()}
    return Packs(**{name: pack.entries for name, pack in found.items()}, sources=sources)


def read_pairs(path: Path) -> tuple[Pair, ...]:
    table = read_path(path)
    assert isinstance(table, PairTable)
    return table.pairs


@pytest.fixture(scope="session")
def train(shared_data: Path) -> tuple[Pair, ...]:
    return read_pairs(shared_data / "challenge" / "train.csv")
