"""What the store knows of gene spaces, knowledge packs and presets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from core.base.errors import NotFound
from core.store import Store, notes, pairs, spaces
from core.store.spaces import PackRecord, SpaceRecord

pytestmark = pytest.mark.soak

SPACE = SpaceRecord(
    id="0a1b",
    name="near",
    kind="text",
    spec={"columns": 3, "pack": "desc"},
    source="TF-IDF of 3 descriptions",
    sha256="f" * 64,
    genes=3,
    columns=2,
    notes=("2 columns", "one, with a comma"),
    built_from=None,
    source_file=None,
    author="tester",
)
PACK = PackRecord("desc", "descriptions", "a" * 64, 3, "desc.json", "import1", "mouse")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "desk.duckdb", tmp_path / "cache")


def test_a_space_comes_back_whole_by_name_and_by_id(store: Store) -> None:
    labelled = replace(
        SPACE, id="2c3d", name="from labels", built_from="bmdm", source_file="import1", notes=()
    )
    for space in (SPACE, labelled):
        with store.write() as db:
            spaces.add(db, space)
    with store.read() as db:
        assert spaces.list_all(db) == [SPACE, labelled]
        assert [spaces.find(db, name) for name in ("near", "0a1b", "from labels", "2c3d")] == [
            SPACE
        ] * 2 + [labelled] * 2
        assert spaces.find(db, "near").created_at is not None
        with pytest.raises(
            NotFound, match="space 'far': not in this workspace, which has near, from labels"
        ):
            spaces.find(db, "far")
    with store.write() as db:
        spaces.delete(db, "0a1b")
        assert spaces.list_all(db) == [labelled]


@pytest.mark.parametrize(
    "other", [replace(SPACE, name="another name"), replace(SPACE, id="another id")]
)
def test_id_and_name_of_a_space_are_its_own(store: Store, other: SpaceRecord) -> None:
    with store.write() as db:
        spaces.add(db, SPACE)
    with pytest.raises(duckdb.ConstraintException), store.write() as db:
        spaces.add(db, other)


def test_the_latest_pack_of_a_kind_or_the_named_one(store: Store) -> None:
    newer, network = replace(PACK, name="again"), replace(PACK, name="edges", kind="network")
    for pack in (PACK, newer, network):
        with store.write() as db:
            spaces.add_pack(db, pack)
    with store.read() as db:
        assert spaces.list_packs(db) == [PACK, newer, network]
        assert spaces.pack_of_kind(db, "descriptions") == newer
        assert spaces.pack_of_kind(db, "descriptions", "desc") == PACK
        with pytest.raises(
            NotFound,
            match=r"a pack of orthologs: .* has desc \(descriptions\), again .*; import one",
        ):
            spaces.pack_of_kind(db, "orthologs")
        with pytest.raises(NotFound, match="pack 'edges' of descriptions"):
            spaces.pack_of_kind(db, "descriptions", "edges")
    with store.write() as db:
        spaces.delete_pack(db, "again")
        assert spaces.pack_of_kind(db, "descriptions") == PACK


def test_presets_belong_to_a_page_and_are_replaced_by_name(store: Store) -> None:
    with store.write() as db:
        notes.save_preset(db, "what-if", "mine", {"power": 2.0, "with": ["a", "b"]}, "Ada")
        notes.save_preset(db, "what-if", "half", {"power": 1}, "Ada")
        notes.save_preset(db, "neighbours", "mine", {}, "Ada")
        notes.save_preset(db, "what-if", "mine", {"power": 3.0, "nearest": None}, "Bob")
    with store.write() as db:
        assert notes.presets_of_page(db, "what-if") == {
            "half": {"power": 1},
            "mine": {"power": 3.0, "nearest": None},
        }
        assert notes.delete_preset(db, "what-if", "mine")
        assert not notes.delete_preset(db, "what-if", "mine")
        assert (
            list(notes.presets_of_page(db, "what-if")),
            notes.presets_of_page(db, "neighbours"),
        ) == (["half"], {"mine": {}})


def test_genes_that_are_here_are_described_and_empty_texts_say_nothing(store: Store) -> None:
    with store.write() as db:
        pairs.add_genes(db, ["Ga", "Gb", "Gc"], {"Gb": "old"})
        assert pairs.describe(db, {"Ga": "a kinase", "Gb": "  ", "Gone": "elsewhere"}) == 1
        assert pairs.describe(db, {"Gc": " "}) == pairs.describe(db, {}) == 0
        assert [pairs.symbol(db, gene)[1] for gene in ("Ga", "Gb", "Gc", "Gone")] == [
            "a kinase",
            "old",
            None,
            None,
        ]
