"""Knowledge packs: in, described, lost, found and taken back."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from core.base.errors import InputError, StateError
from core.evidence.knowledge_packs import read_knowledge
from core.features.importing.actions import import_paths, import_upload
from core.features.importing.import_target import Imported, ImportOptions
from core.features.importing.imported_rows import undo
from core.features.leakage.shared_symbols import read_symbol_tables
from core.features.neighbours.spaces import embed
from core.runs import packs
from core.runs.workspace import Workspace
from core.store import changes, imports, pairs, spaces
from tests import cases, worlds
from tests.commands import core_json
from tests.embeddings.hostile import touches
from tests.embeddings.test_checkpoints import geneformer
from tests.features.importing.test_actions import everything, unchanged

DESCRIBED = worlds.PACKS["descriptions"]


PLAIN = ImportOptions()


def orthologs(**symbols: str) -> bytes:
    return json.dumps(symbols).encode()


def descriptions(workspace: Workspace) -> dict[str, str | None]:
    with workspace.store.read() as db:
        return {gene: pairs.symbol(db, gene)[1] for gene in ("Ga", "Gb", "Gc", "Pa")}


def ways(workspace: Workspace, folder: Path) -> list[Callable[..., Imported]]:
    """To import bytes under a name: as a file, and as an upload."""

    def as_file(content: bytes, name: str, options: ImportOptions = PLAIN) -> Imported:
        (folder / name).write_bytes(content)
        [outcome] = import_paths(workspace, [folder / name], options)
        return outcome

    return [as_file, partial(import_upload, workspace)]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", worlds.PACKS)
def test_a_pack_comes_once_and_goes_whole(workspace: Workspace, tmp_path: Path, kind: str) -> None:
    """As a file or as an upload: what has come the one way is here for the other."""
    before, files = everything(workspace), worlds.kept_files(workspace)
    content = worlds.pack(kind)
    entries = len(read_knowledge(content, "x"))
    told = {"regulation": "a table of factors", "lps_response": "a table of responses"}
    both = ways(workspace, tmp_path)
    for first, second in (both, both[::-1]):
        outcome = first(content, "mine.json")
        assert (outcome.kind, outcome.name, outcome.rows, outcome.rejected, outcome.new) == (
            kind,
            "mine",
            entries,
            (),
            True,
        )
        with workspace.store.read() as db:
            [pack] = spaces.list_packs(db)
            [listed] = imports.list_imports(db).to_dict("records")
        assert (pack.name, pack.kind, pack.entries, pack.source) == (
            "mine",
            kind,
            entries,
            told.get(kind, "mine.json"),
        )
        assert (listed["kind"], listed["rows"], listed["file"]) == (kind, entries, "mine.json")
        assert packs.read(workspace.settings, "mine", pack.sha256) == read_knowledge(content, "x")

        here, stored = everything(workspace), worlds.kept_files(workspace)
        again = second(content, "another.json", ImportOptions(name="other"))
        assert (again.new, again.name, again.kind, again.rows) == (False, "mine", kind, entries)
        assert "nothing changed" in again.message
        assert (everything(workspace), worlds.kept_files(workspace)) == (here, stored)

        undo(workspace, "mine.json")
        assert (everything(workspace), worlds.kept_files(workspace)) == (before, files)


def test_other_content_under_a_name_needs_replace(workspace: Workspace, tmp_path: Path) -> None:
    one, other = orthologs(Ga="GENEA"), orthologs(Ga="GENEB", Gb="GENEC")
    both = ways(workspace, tmp_path)
    both[0](one, "mine.json")
    before = everything(workspace), worlds.kept_files(workspace)
    for bring in both:
        refused = bring(other, "mine.json")
        assert refused.kind == "failed"
        assert (
            "'mine' exists with other content; choose another --name, or use --replace"
            in refused.message
        )
        assert (everything(workspace), worlds.kept_files(workspace)) == before
    for bring, content in zip(both, (other, one), strict=True):
        assert bring(
            content, "mine.json", ImportOptions(replace=True)
        ).new  # the import of what it replaced went with it
        assert packs.read(workspace.settings, "mine") == read_knowledge(content, "x")
        with workspace.store.read() as db:
            assert len(imports.list_imports(db)) == len(spaces.list_packs(db)) == 1


@pytest.mark.soak
@pytest.mark.parametrize("packs_first", [True, False])
def test_descriptions_reach_the_genes_in_either_order(
    workspace: Workspace, packs_first: bool
) -> None:
    files = [
        (cases.TRAIN, "train.csv"),
        (cases.TEST, "test.csv"),
        (worlds.pack("descriptions"), "desc.json"),
    ]
    for content, name in files[::-1] if packs_first else files:
        assert import_upload(workspace, content, name).new
    assert descriptions(workspace) == {**DESCRIBED, "Pa": None}


@pytest.mark.soak
def test_a_later_pack_describes_over_an_earlier_one_but_not_with_nothing(
    workspace: Workspace,
) -> None:
    import_upload(workspace, cases.TRAIN, "train.csv")
    import_upload(workspace, worlds.pack("descriptions"), "desc.json")
    import_upload(
        workspace,
        json.dumps({"Ga": "Newer words.", "Gb": "", "Pa": "A factor."}).encode(),
        "newer.json",
    )
    expected = {"Ga": "Newer words.", "Gb": DESCRIBED["Gb"], "Gc": None, "Pa": "A factor."}
    assert descriptions(workspace) == expected
    import_upload(workspace, cases.TEST, "test.csv")
    assert descriptions(workspace) == {**expected, "Gc": DESCRIBED["Gc"]}


def test_a_lost_or_changed_file_is_named_and_comes_back_with_the_import(
    workspace: Workspace,
) -> None:
    content = worlds.pack("orthologs")
    import_upload(workspace, content, "mine.json")
    [file] = (workspace.settings.data / "knowledge").iterdir()
    with unchanged(workspace):
        for damage, message in (
            (file.unlink, "is missing in .*; import it again"),
            (lambda: file.write_bytes(b"{}"), "no knowledge"),
        ):
            damage()
            with pytest.raises((InputError, StateError), match=message):
                packs.read(workspace.settings, "mine")
            again = import_upload(workspace, content, "mine.json")
            assert (again.new, again.name) == (False, "mine")
            assert "its lost file is restored" in again.message
            assert packs.read(workspace.settings, "mine") == read_knowledge(content, "x")
        file.write_bytes(worlds.pack("proteins"))
        with pytest.raises(
            StateError,
            match=r"pack 'mine': mine\.json has changed since; import the file with hash",
        ):
            packs.read(workspace.settings, "mine", read_knowledge(content, "x").sha256)
        assert "its lost file is restored" in import_upload(workspace, content, "mine.json").message


@pytest.mark.soak
@pytest.mark.parametrize(
    "names", [("a b", "a_b"), ("гены", "сеть"), ("x" * 150, "x" * 151), ("a/b", "a_b")]
)
def test_two_packs_never_share_a_file(workspace: Workspace, names: tuple[str, str]) -> None:
    contents = [orthologs(Ga="ONE"), orthologs(Ga="TWO")]
    for name, content in zip(names, contents, strict=True):
        assert import_upload(workspace, content, "x.json", ImportOptions(name=name)).name == name
    for name, content in zip(names, contents, strict=True):
        assert packs.read(workspace.settings, name) == read_knowledge(content, "x")
    with workspace.store.read() as db:
        second = spaces.list_packs(db)[1]
    undo(workspace, second.source_file)
    assert packs.read(workspace.settings, names[0]) == read_knowledge(contents[0], "x")


@pytest.mark.soak
def test_a_mixed_folder_imports_what_it_recognises_and_names_the_rest(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "mixed"
    (folder / "deeper" / "gf").mkdir(parents=True)
    geneformer(folder / "deeper" / "gf")
    hostile = touches(tmp_path / "marker")[1][1]
    files = {
        "a_submission.csv": cases.DEBATES,
        "b_pack.json": worlds.pack("descriptions"),
        "c_space.txt": b"2 2\nGa 1 0\nGb 0 1\n",
        "notes.md": b"# what this is",
        "settings.json": b'{"colour": {"of": "bars"}}',
        "x.pkl": hostile,
        "deeper/train.csv": cases.TRAIN,
        "deeper/test.csv": cases.TEST,
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    outcomes = {str(Path(o.path).relative_to(folder)): o for o in import_paths(workspace, [folder])}
    assert {name: (o.kind, o.name) for name, o in outcomes.items()} == {
        "a_submission.csv": ("submission", "a_submission"),
        "b_pack.json": ("descriptions", "b_pack"),
        "c_space.txt": ("embedding", "c_space"),
        "notes.md": ("unknown", None),
        "settings.json": ("unknown", None),
        "x.pkl": ("failed", None),
        "deeper/train.csv": ("challenge_train", "bmdm"),
        "deeper/test.csv": ("challenge_test", "bmdm"),
        "deeper/gf": ("failed", None),  # a space of human genes beside mouse data
    }
    assert "system" in outcomes["x.pkl"].message
    assert not (tmp_path / "marker").exists()
    assert descriptions(workspace) == {**DESCRIBED, "Pa": None}
    with workspace.store.read() as db:
        assert set(changes.latest(db)["action"]) == {"import"}
        assert len(changes.latest(db)) == 5
    again = {
        o.new for o in import_paths(workspace, [folder]) if o.kind not in ("unknown", "failed")
    }
    assert again == {False}


def test_tables_of_symbols_say_what_is_missing(workspace: Workspace) -> None:
    nothing = read_symbol_tables(workspace)
    assert (nothing.proteins, nothing.orthologs) == ({}, {})
    assert nothing.notes == (
        "two names of one gene are not recognised: the workspace has no knowledge pack of proteins",
        "paralogs are not listed: the workspace has no knowledge pack of orthologs",
    )
    for kind in ("proteins", "orthologs"):
        import_upload(workspace, worlds.pack(kind), f"{kind}.json")
    tables = read_symbol_tables(workspace)
    assert (tables.proteins, tables.orthologs, tables.notes) == (
        worlds.PACKS["proteins"],
        worlds.PACKS["orthologs"],
        (),
    )
    (workspace.settings.data / "knowledge" / "proteins.json").unlink()
    [note] = read_symbol_tables(workspace).notes
    assert note.startswith(
        "two names of one gene are not recognised: pack 'proteins': its file proteins.json is missing"
    )


@pytest.mark.soak
def test_a_folder_with_gene_sets_and_splits_imports_the_packs_and_lists_the_rest_as_unknown(
    workspace: Workspace, tmp_path: Path
) -> None:
    files = {
        "k562_sets.json": {
            "1-respiratory chain": ["MT-ND6", "MT-CO2"],
            "2-protein response": ["HSPA5"],
        },
        "split_seed42.json": {"train_conditions": ["CKS1B", "CEBPA+JUN"], "seed": 42},
        "mouse.json": {"Stat1": ["Interferon Signaling"], "Irf1": ["Immune System"]},
        "human.json": {"STAT1": ["Interferon Signaling"], "IRF1": ["Immune System"]},
    }
    (tmp_path / "files").mkdir()
    for name, content in files.items():
        (tmp_path / "files" / name).write_text(json.dumps(content))
    found = core_json(workspace, "import", str(tmp_path / "files"))["imported"]
    assert {
        (one["name"] or Path(one["path"]).name, one["kind"], one["organism"]) for one in found
    } == {
        ("k562_sets.json", "unknown", None),
        ("split_seed42.json", "unknown", None),
        ("mouse", "pathways", "mouse"),
        ("human", "pathways", "human"),
    }
    with workspace.store.read() as db:
        assert [(pack.name, pack.organism) for pack in spaces.list_packs(db)] == [
            ("human", "human"),
            ("mouse", "mouse"),
        ]
    assert packs.read_latest(workspace, "pathways", "human") == packs.read(
        workspace.settings, "human"
    )
    assert packs.read_latest(workspace, "pathways") == packs.read(
        workspace.settings, "mouse"
    )  # the latest of any


@pytest.mark.soak
def test_tables_of_symbols_are_those_of_the_organism(workspace: Workspace) -> None:
    for name, content in (
        ("mouse", {"Stat1": "STAT1", "Irf1": "IRF1"}),
        ("human", {"STAT1": "Stat1", "IRF1": "Irf1"}),
    ):
        import_upload(workspace, json.dumps(content).encode(), f"{name}.json")
    mouse, human = ["Stat2", "Ifit1"], ["STAT2", "IFIT1"]  # symbols of spaces
    of_mouse = {"Stat1": "STAT1", "Irf1": "IRF1"}
    assert packs.read_orthologs(workspace, "mouse", human) == of_mouse
    assert packs.read_orthologs(workspace, "mouse", [*mouse, *human]) == of_mouse
    assert packs.read_orthologs(workspace, "human", mouse) == {"STAT1": "Stat1", "IRF1": "Irf1"}
    # none is needed to find genes in a space of their own organism
    assert packs.read_orthologs(workspace, "mouse", mouse) == {}
    assert packs.read_orthologs(workspace, "human", human) == {}
    assert (
        "two names of one gene are not recognised: the workspace has no knowledge pack of proteins of human genes"
        in (read_symbol_tables(workspace, "human").notes)
    )


@pytest.mark.soak
def test_a_space_is_built_from_the_latest_pack_of_the_datasets_organism(
    workspace: Workspace,
) -> None:
    import_upload(workspace, cases.TRAIN, "train.csv")
    human = {symbol.upper() * 2: text for symbol, text in DESCRIBED.items()}
    for name, content in (("mouse", DESCRIBED), ("human", human)):
        import_upload(workspace, json.dumps(content).encode(), f"{name}.json")
    options = {"columns": 2, "seed": 0}
    assert embed(workspace, "text", "mine", options).spec["pack"] == "mouse"
    assert embed(workspace, "text", "theirs", options, pack="human").spec["pack"] == "human"
    undo(workspace, "mouse.json")
    assert embed(workspace, "text", "at least", options).spec["pack"] == "human"  # what else
