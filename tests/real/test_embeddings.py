"""The published knowledge packs and the spaces built from them, as numbers.md describes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.base.errors import UnknownFormat
from core.base.types import Pair
from core.embeddings.space import Space
from core.embeddings.symbol_matching import coverage, match_symbols
from core.evidence import knowledge_packs
from core.features.neighbours.build import build_network, build_response, build_text

pytestmark = pytest.mark.real


Packs = dict[str, knowledge_packs.Pack]


@pytest.fixture(scope="module")
def packs(shared_data: Path) -> Packs:
    return {
        path.stem: knowledge_packs.read_knowledge_path(path)
        for path in sorted((shared_data / "knowledge").glob("*.json"))
    }


@pytest.fixture(scope="module")
def spaces(packs: Packs) -> dict[str, Space]:
    texts, network, lps = (packs[name] for name in ("gene_desc", "string_edges", "hagai_lps_prior"))
    responses = {
        gene: (found.logfc, found.mean_lps, found.mean_ctrl) for gene, found in lps.entries.items()
    }
    return {
        "text": build_text(texts.entries, "text"),
        "STRING": build_network(network.entries, "STRING"),
        "LPS": build_response(responses, "LPS"),
    }


@pytest.mark.soak
def test_every_pack_is_recognised_and_read_whole(packs: Packs) -> None:
    sizes = {}
    for name, pack in packs.items():
        sizes[name] = pack.kind, len(pack)
    assert sizes == {
        "collectri_mouse_signed": ("regulation", 39_521),
        "gene_desc": ("descriptions", 2_623),
        "gene_reactome": ("pathways", 1_420),
        "hagai_lps_prior": ("lps_response", 6_619),
        "mouse_to_human_ortholog": ("orthologs", 2_222),
        "string_edges": (
            "network",
            65_377,
        ),  # 130,810 entries: both directions, repeats, one gene with itself
        "symbol_to_ensp": ("proteins", 2_338),
    }


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "columns", "rows"), [("text", 200, 1.00), ("STRING", 128, 0.85), ("LPS", 3, 0.48)]
)
def test_coverage_of_the_training_rows(
    spaces: dict[str, Space], train: tuple[Pair, ...], name: str, columns: int, rows: float
) -> None:
    space = spaces[name]
    found = coverage(space, [pair.pert for pair in train], [pair.gene for pair in train])
    assert space.columns == columns
    assert round(found.rows_by_gene, 2) == rows
    assert 0 < found.rows_by_both <= min(found.rows_by_gene, found.rows_by_pert)


@pytest.mark.soak
def test_descriptions_without_text_are_reported(spaces: dict[str, Space]) -> None:
    assert spaces["text"].notes[1].startswith("7 zero vectors dropped: ")
    assert len(spaces["text"].symbols) == 2_623 - 7


@pytest.mark.soak
def test_every_pack_is_about_mice(packs: Packs) -> None:
    assert {pack.organism for pack in packs.values()} == {"mouse"}


def test_gene_sets_and_splits_are_no_packs(shared_data: Path) -> None:
    files = [*(shared_data / "perturbqa").glob("*.json"), *(shared_data / "norman").glob("*.json")]
    assert len(files) == 5
    for file in files:
        with pytest.raises(
            UnknownFormat,
            match=f"{file.name}: JSON that is no knowledge pack, .*; expected descriptions",
        ):
            knowledge_packs.read_knowledge_path(file)


@pytest.mark.soak
def test_the_ortholog_table_adds_what_case_does_not_find(
    packs: Packs,
) -> None:
    """A space with human symbols: 2,070 of 2,222 orthologs differ in case only, the rest needs the table."""
    orthologs = packs["mouse_to_human_ortholog"]
    human = sorted(set(orthologs.entries.values()))
    space = build_response(dict.fromkeys(human, (1.0, 1.0, 1.0)), "human")
    mouse = list(orthologs.entries)
    found = match_symbols(space, mouse, orthologs.entries)
    assert found.coverage == 1
    assert found.count("case") + found.count("exact") >= 2_070
    assert found.count("ortholog") == len(mouse) - found.count("case") - found.count("exact") > 100
    assert not found.ambiguous
