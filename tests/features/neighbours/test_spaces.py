"""Gene spaces of a workspace: made, loaded, lost, made again, replaced, taken away."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.base.errors import InputError, NotFound, StateError
from core.embeddings.space import Space
from core.features.importing.actions import import_paths, import_space, import_upload
from core.features.importing.import_target import ImportOptions
from core.features.importing.imported_rows import undo
from core.features.neighbours import spaces
from core.runs.workspace import Workspace, open_workspace
from core.store import spaces as records
from core.store.spaces import SpaceRecord
from tests import cases, worlds
from tests.embeddings.hostile import refusal_of, touches
from tests.embeddings.test_checkpoints import geneformer
from tests.features.importing.spaces.test_load import SYMBOLS, VECTORS, WRITERS
from tests.features.importing.test_actions import everything, unchanged
from tests.features.neighbours.test_build import by_length, serving

# kind → (the pack it needs, options, other options)
BUILT = {
    "text": ("descriptions", {"columns": 2, "seed": 0}, {"columns": 1, "seed": 0}),
    "network": ("network", {"columns": 2, "seed": 0}, {"columns": 2, "seed": 1}),
    "response": ("lps_response", {}, None),
    "coresponse": (
        "",
        {"dataset": "bmdm", "of": "gene", "columns": 2, "seed": 0},
        {"dataset": "bmdm", "of": "pert", "columns": 2},
    ),
}
MORE_ROWS = cases.as_csv(["id", "pert", "gene", "label"], [["Pz_Ga", "Pz", "Ga", "down"]])


def fill(workspace: Workspace) -> None:
    """Six rows, and one pack of each kind, called by its kind."""
    worlds.import_small(workspace)
    for kind in worlds.PACKS:
        assert import_upload(workspace, worlds.pack(kind), f"{kind}.json").kind == kind


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return worlds.template(tmp_path_factory.mktemp("filled"), fill)


@pytest.fixture
def furnished(workspace: Workspace, filled: Path) -> Workspace:
    """`fill`, in `workspace`."""
    return worlds.copied(filled, workspace)


def build(
    workspace: Workspace, kind: str, name: str = "s", *, other: bool = False, replace: bool = False
) -> SpaceRecord:
    _, options, others = BUILT[kind]
    return spaces.embed(
        workspace, kind, name, {**options, **(others or {})} if other else options, replace=replace
    )


def by_symbol(space: Space) -> dict[str, list[float]]:
    return dict(zip(space.symbols, space.vectors.tolist(), strict=True))


def all_spaces(workspace: Workspace) -> list[SpaceRecord]:
    with workspace.store.read() as db:
        return records.list_all(db)


@pytest.mark.soak
@pytest.mark.parametrize("kind", BUILT)
def test_the_same_specification_gives_the_same_space_and_another_is_refused(
    furnished: Workspace, kind: str
) -> None:
    made = build(furnished, kind)
    assert (made.name, made.kind, made.author, made.source_file) == ("s", kind, "tester", None)
    assert made.built_from == ("bmdm" if kind == "coresponse" else None)
    with unchanged(furnished):
        assert build(furnished, kind) == build(furnished, kind, replace=True) == made
    assert build(furnished, kind, "t").id != made.id
    if BUILT[kind][2] is None:
        return
    with pytest.raises(
        StateError, match=r"space 's' exists with another specification; .*--replace"
    ):
        build(furnished, kind, other=True)
    replaced = build(furnished, kind, other=True, replace=True)
    assert replaced.id != made.id
    assert [space.id for space in all_spaces(furnished) if space.name == "s"] == [replaced.id]
    assert f"{made.id}.safetensors" not in {
        file.name for file in (furnished.settings.cache / "spaces").iterdir()
    }


@pytest.mark.soak
def test_a_space_by_hand(furnished: Workspace) -> None:
    """response: tanh of the change, log(1 + 2) and log(1 + 1), for each gene."""
    found = by_symbol(spaces.load(furnished, build(furnished, "response")))
    expected = {"Ga": np.tanh(1.0), "Gb": np.tanh(-1.0), "Gc": np.tanh(0.5)}
    assert found == {
        gene: pytest.approx([first, np.log(3), np.log(2)]) for gene, first in expected.items()
    }


@pytest.mark.soak
def test_another_pack_is_another_specification(furnished: Workspace) -> None:
    made = build(furnished, "network")
    import_upload(furnished, b'[["Ga", "Gc", 700]]', "newer.json")
    with pytest.raises(StateError, match="another specification"):
        build(furnished, "network")  # the latest pack of its kind
    assert spaces.embed(furnished, "network", "s", BUILT["network"][1], pack="network") == made


def empty(cache: Path) -> None:
    shutil.rmtree(cache)


def damage(cache: Path) -> None:
    for file in (cache / "spaces").iterdir():
        file.write_bytes(file.read_bytes()[:-3])


def overwrite(cache: Path) -> None:
    for file in (cache / "spaces").iterdir():
        file.write_bytes(b"prose")


@pytest.mark.soak
@pytest.mark.parametrize("harm", [empty, damage, overwrite])
def test_what_is_built_is_made_again_when_the_cache_is_lost(
    furnished: Workspace, harm: Callable[[Path], None]
) -> None:
    made = {kind: build(furnished, kind, kind) for kind in BUILT}
    before = {kind: spaces.load(furnished, record) for kind, record in made.items()}
    harm(furnished.settings.cache)
    for kind, record in made.items():
        found = spaces.load(furnished, record)
        assert found.symbols == before[kind].symbols
        np.testing.assert_allclose(found.vectors, before[kind].vectors, atol=1e-6)
        assert found.built_from_labels == before[kind].built_from_labels == record.built_from
        assert (furnished.settings.cache / "spaces" / f"{record.id}.safetensors").exists()


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["text", "network", "response"])
def test_without_its_pack_a_lost_space_says_what_is_missing(
    furnished: Workspace, kind: str
) -> None:
    made = build(furnished, kind)
    pack = BUILT[kind][0]
    undo(furnished, f"{pack}.json")
    assert spaces.load(furnished, made).columns == made.columns  # the cache is whole
    shutil.rmtree(furnished.settings.cache)
    with pytest.raises(
        StateError, match=rf"pack '{pack}': its file .* is missing .*; import it again"
    ):
        spaces.load(furnished, made)
    import_upload(furnished, worlds.pack(pack), f"{pack}.json")
    assert spaces.load(furnished, made).sha256 == made.sha256


@pytest.mark.soak
def test_a_pack_of_other_content_does_not_stand_in(furnished: Workspace) -> None:
    made = build(furnished, "network")
    import_upload(furnished, b'[["Ga", "Gc", 700]]', "network.json", ImportOptions(replace=True))
    shutil.rmtree(furnished.settings.cache)
    with pytest.raises(StateError, match=r"pack 'network': .* has changed since"):
        spaces.load(furnished, made)


@pytest.mark.few(1)
@pytest.mark.parametrize("cached", [True, False])
def test_changed_labels_make_a_coresponse_space_another(furnished: Workspace, cached: bool) -> None:
    made = build(furnished, "coresponse")
    import_upload(furnished, MORE_ROWS, "more.csv", ImportOptions(dataset="bmdm"))
    if not cached:
        shutil.rmtree(furnished.settings.cache)
    with pytest.raises(
        StateError, match="space s: the labels of its dataset have changed since it was built"
    ):
        spaces.load(furnished, made)
    with pytest.raises(StateError, match="another specification"):
        build(furnished, "coresponse")
    assert "Ga" in spaces.load(furnished, build(furnished, "coresponse", replace=True)).symbols
    undo(furnished, "train.csv", with_runs=True)
    undo(furnished, "more.csv")
    undo(furnished, "test.csv")
    with pytest.raises(StateError, match="deleted labels: dataset 'bmdm'"):
        spaces.load(furnished, all_spaces(furnished)[0])


@pytest.mark.soak
def test_vectors_from_a_server_are_kept_beside_the_cache(furnished: Workspace) -> None:
    with serving(by_length) as (url, asked):
        workspace = open_workspace(
            dataclasses.replace(furnished.settings, endpoint=url, api_key="sesame")
        )
        options = {"base_url": url, "model": "m"}
        made = spaces.embed(workspace, "endpoint", "e", options)
        shutil.rmtree(workspace.settings.cache)
        assert spaces.embed(workspace, "endpoint", "e", options) == made
        assert spaces.load(workspace, made).sha256 == made.sha256
        assert [request.key for request in asked] == ["Bearer sesame"]
        file = workspace.settings.data / "embeddings" / f"{made.id}.safetensors"
        file.unlink()
        with pytest.raises(StateError, match=r"space e: its file .* is missing"):
            spaces.load(workspace, made)
        assert spaces.embed(workspace, "endpoint", "e", options) == made  # asked again
        assert len(asked) == 2
    assert spaces.load(workspace, made).sha256 == made.sha256
    assert "sesame" not in repr(everything(workspace))


@pytest.mark.soak
@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__.removeprefix("write_"))
def test_an_embedding_comes_once_and_goes_whole(
    workspace: Workspace, tmp_path: Path, write: Callable[[Path], None]
) -> None:
    """As a file or as an upload: what has come the one way is here for the other."""
    path = tmp_path / "mine.npz"
    write(path)
    ways = [
        lambda *options: import_paths(workspace, [path], *options)[0],
        lambda *options: import_upload(workspace, path.read_bytes(), path.name, *options),
    ]
    before = everything(workspace), worlds.kept_files(workspace)
    for first, second in (ways, ways[::-1]):
        outcome = first()
        assert (outcome.kind, outcome.name, outcome.rows, outcome.new) == (
            "embedding",
            "mine",
            5,
            True,
        )
        [made] = all_spaces(workspace)
        assert (made.kind, made.genes, made.columns, made.built_from) == ("loaded", 5, 2, None)
        space = spaces.load(workspace, made)
        assert (space.symbols, space.sha256) == (tuple(SYMBOLS), made.sha256)
        np.testing.assert_array_equal(space.vectors, VECTORS)
        with unchanged(workspace):
            again = second(ImportOptions(name="other"))
            assert (again.new, again.name) == (False, "mine")
            assert "nothing changed" in again.message
        undo(workspace, "mine.npz")
        assert (everything(workspace), worlds.kept_files(workspace)) == before


@pytest.mark.soak
def test_a_checkpoint_comes_whole(workspace: Workspace, tmp_path: Path) -> None:
    [outcome] = import_paths(workspace, [geneformer(tmp_path / "gf")])
    assert (outcome.kind, outcome.name, outcome.rows) == ("embedding", "gf", 2)
    assert outcome.message == "3 of 5 tokens have no gene name and are left out"
    assert by_symbol(spaces.load(workspace, all_spaces(workspace)[0])) == {
        "TP53": [5, 6],
        "KRAS": [11, 12],
    }


@pytest.mark.soak
def test_a_hostile_embedding_is_refused_and_nothing_is_kept(
    workspace: Workspace, tmp_path: Path
) -> None:
    with unchanged(workspace):
        folder = geneformer(tmp_path / "gf")
        for what, content in touches(tmp_path / "marker"):
            (tmp_path / "x.pkl").write_bytes(content)
            (folder / "token_dictionary_gc95M.pkl").write_bytes(content)
            outcomes = [
                *import_paths(workspace, [tmp_path / "x.pkl", folder]),
                import_upload(workspace, content, "x.pkl"),
            ]
            words = refusal_of(what)[1]
            said = [
                (words if o.path.endswith("x.pkl") else what) in o.message for o in outcomes
            ]  # else a checkpoint
            assert ([o.kind for o in outcomes], said) == (["failed"] * 3, [True] * 3)
        assert not (tmp_path / "marker").exists()


@pytest.mark.soak
def test_another_embedding_under_a_name_needs_replace(workspace: Workspace) -> None:
    one, other = worlds.table_of({"Ga": [1, 0]}), worlds.table_of({"Ga": [0, 1]})
    import_upload(workspace, one, "mine.csv")
    with unchanged(workspace):
        refused = import_upload(workspace, other, "mine.csv")
        assert refused.kind == "failed"
        assert "space 'mine' exists with another specification" in refused.message
    assert import_upload(workspace, other, "mine.csv", ImportOptions(replace=True)).new
    [made] = all_spaces(workspace)
    assert by_symbol(spaces.load(workspace, made)) == {"Ga": [0, 1]}
    assert list(worlds.kept_files(workspace)) == [f"embeddings/{made.id}.safetensors"]
    assert import_upload(workspace, one, "one.csv").new  # its import went with it


def test_what_has_to_be_a_space_is_one_or_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "file.csv"
    file.write_bytes(worlds.table_of({"Ga": [1, 0], "Gb": [0.5, 0.5]}))
    made = import_space(workspace, file, "s")
    assert import_space(workspace, file, "s") == made
    with pytest.raises(InputError, match="no such file"):
        import_space(workspace, tmp_path / "gone", "t")
    file.write_bytes(b"prose about genes")
    with pytest.raises(InputError, match="expected safetensors"):
        import_space(workspace, file, "t")
    file.write_bytes(worlds.table_of({"Ga": [2, 0]}))
    with pytest.raises(StateError, match="space 's' exists"):
        import_space(workspace, file, "s")
    assert import_space(workspace, file, "s", replace=True).columns == 2


NO_NAME = (
    "expected (a name of 1 to 60 characters without commas|1 to 255|characters that can be seen)"
)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["", " ", "a,b", "x" * 61, " a", "a "])
def test_names_that_are_none(furnished: Workspace, tmp_path: Path, name: str) -> None:
    with unchanged(furnished):
        with pytest.raises(InputError, match=NO_NAME):
            spaces.embed(furnished, "response", name, {})
        (tmp_path / "file.csv").write_bytes(worlds.table_of({"Ga": [1, 0]}))
        if name:  # without one, an import takes the file's
            with pytest.raises(InputError, match=NO_NAME):
                import_space(furnished, tmp_path / "file.csv", name)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "damage", [Path.unlink, lambda file: file.write_bytes(b"prose"), "other vectors"]
)
def test_a_lost_embedding_is_named_and_comes_back_with_the_import(
    workspace: Workspace, damage: Any
) -> None:
    content = worlds.table_of({"Ga": [1, 0], "Gb": [0, 1]})
    import_upload(workspace, content, "mine.csv")
    [made] = all_spaces(workspace)
    file = workspace.settings.data / "embeddings" / f"{made.id}.safetensors"
    with unchanged(workspace):
        if damage == "other vectors":
            whole = file.read_bytes()
            file.write_bytes(whole[:-4] + b"\x00\x00\x00\x40")  # the last number is 2 now
        else:
            damage(file)
        with pytest.raises(
            (StateError, InputError),
            match=r"is missing|has changed since|neither|expected safetensors",
        ):
            spaces.load(workspace, made)
        again = import_upload(workspace, content, "mine.csv")
        assert (again.new, again.name) == (False, "mine")
        assert "its lost file is restored" in again.message
    assert spaces.load(workspace, made).sha256 == made.sha256


@pytest.mark.soak
def test_a_deleted_space_can_come_again(furnished: Workspace) -> None:
    with unchanged(furnished):
        content = worlds.table_of({"Ga": [1, 0]})
        import_upload(furnished, content, "mine.csv")
        assert spaces.delete(furnished, "mine").name == "mine"
    assert import_upload(furnished, content, "mine.csv").new
    build(furnished, "response")
    spaces.delete(furnished, "s")
    assert [space.name for space in all_spaces(furnished)] == ["mine"]
    assert list((furnished.settings.cache / "spaces").iterdir()) == []
    with pytest.raises(NotFound, match="space 's': not in this workspace, which has mine"):
        spaces.delete(furnished, "s")


@pytest.mark.soak
def test_an_embedding_that_was_built_over_can_come_again(furnished: Workspace) -> None:
    content = worlds.table_of({"Ga": [1, 0]})
    import_upload(furnished, content, "s.csv")
    build(furnished, "response", replace=True)
    again = import_upload(furnished, content, "again.csv")
    assert (again.new, again.name) == (True, "again")


@pytest.mark.soak
@pytest.mark.parametrize("change", ["delete", "load over", "build over"])
def test_the_demo_can_be_taken_back_without_its_space(
    demo_workspace: Workspace, workspace: Workspace, change: str
) -> None:
    worlds.copied(demo_workspace.settings.workspace, workspace)
    import_upload(workspace, worlds.pack("lps_response"), "lps.json")
    if change == "delete":
        spaces.delete(workspace, "simulated")
    elif change == "load over":
        import_upload(
            workspace, worlds.table_of({"Ga": [1, 0]}), "simulated.csv", ImportOptions(replace=True)
        )
    else:
        build(workspace, "response", "simulated", replace=True)
    undo(workspace, "simulated", with_runs=True)
    if change != "delete":
        spaces.delete(workspace, "simulated")
    undo(workspace, "lps.json")
    assert {name for name, rows in everything(workspace).items() if rows} == {"schema_hash", "gene"}
    assert worlds.kept_files(workspace) == {}


@pytest.mark.soak
def test_coverage_counts_rows_and_looks_orthologs_up(furnished: Workspace) -> None:
    """Ga, Gb twice each, Gc, Gm12 once each; Pa, Pb and Pc twice each. GENEA, GENEC are human; pb is Pb in another case."""
    import_upload(
        furnished,
        worlds.table_of({"GENEA": [1, 0], "genec": [0, 1], "pb": [1, 1], "ELSEWHERE": [1, 2]}),
        "human.csv",
    )
    found = spaces.coverage_of(furnished, all_spaces(furnished)[0])
    assert (found.genes, found.rows_by_gene) == (pytest.approx(2 / 4), pytest.approx(3 / 6))
    assert (found.perts, found.rows_by_pert, found.rows_by_both) == tuple(
        map(pytest.approx, (1 / 3, 2 / 6, 1 / 6))
    )
    matched = spaces.match_dataset(furnished, all_spaces(furnished)[0], "bmdm")
    assert (matched.count("ortholog"), matched.count("case"), matched.count("exact")) == (2, 1, 0)
    undo(furnished, "orthologs.json")
    found = spaces.coverage_of(furnished, all_spaces(furnished)[0], "bmdm")
    assert found.rows_by_gene == 0
    with pytest.raises(NotFound, match="dataset 'other'"):
        spaces.coverage_of(furnished, all_spaces(furnished)[0], "other")


@pytest.mark.soak
def test_a_workspace_without_rows_has_no_coverage(workspace: Workspace) -> None:
    import_upload(workspace, worlds.pack("lps_response"), "lps.json")
    assert spaces.coverage_of(workspace, build(workspace, "response")) is None
    with pytest.raises(
        NotFound, match=r"a pack of descriptions: .* which has lps \(lps_response\)"
    ):
        build(workspace, "text", "t")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (
            ["ENSG00000115415", "ENSG00000125347.14", "ENSMUSG00000026104"],
            "Ensembl gene identifiers",
        ),
        (
            ["9606.ENSP00000354394", "9606.ENSP00000245414", "ENSP00000401303"],
            "Ensembl protein identifiers",
        ),
        (["P42224", "P10914", "Q99836"], "UniProt's accessions"),
        (["NM_007315.4", "NM_002198", "XM_0123456"], "identifiers of RefSeq"),
        (["HGNC:11362", "HGNC:6116", "HGNC:7562"], "identifiers of a database"),
        (["209969_s_at", "202531_at", "ILMN_1690105"], "probes of an array"),
    ],
)
def test_a_space_that_covers_no_gene_is_refused_by_what_its_names_look_like(
    workspace: Workspace, names: list[str], kind: str
) -> None:
    import_upload(
        workspace,
        cases.as_csv(["id", "pert", "gene", "label"], [("Pa_Ga", "Pa", "Ga", "up")]),
        "train.csv",
    )
    content = cases.as_csv(["gene", "d0", "d1"], [(name, i, 1.5) for i, name in enumerate(names)])
    refused = import_upload(workspace, content, "x.csv")
    assert f"covers no gene of bmdm: its names are {names[0]}" in refused.message
    assert f"which look like {kind}; expected symbols alone, such as Ga" in refused.message


@pytest.mark.soak
def test_a_space_of_other_genes_is_refused_unless_a_dataset_has_one(workspace: Workspace) -> None:
    content = cases.as_csv(
        ["gene", "d0", "d1"],
        [(name, i, 1.5) for i, name in enumerate(("YAL001C", "YBR002W", "Q0085"))],
    )
    assert (
        import_upload(workspace, content, "yeast.csv").kind == "embedding"
    )  # nothing is known without a dataset
    import_upload(
        workspace,
        cases.as_csv(["id", "pert", "gene", "label"], [("Pa_Ga", "Pa", "Ga", "up")]),
        "train.csv",
    )
    other = content.replace(b"YAL001C", b"YAL009C")
    refused = import_upload(workspace, other, "other.csv")
    assert (
        "covers no gene of bmdm: its names are YAL009C, YBR002W, Q0085, expected symbols alone, such as Ga"
        in refused.message
    )
    assert "imported after their dataset" in refused.message
    rows = cases.as_csv(
        ["pert", "gene", "label", "split"],
        [("YBR002W", "Zz", 1, "train"), ("X", "YBR002W", 0, "train")],
    )
    import_upload(workspace, rows, "yeast-de.csv")
    assert import_upload(workspace, other, "other.csv").kind == "embedding"


def test_what_was_left_out_is_named_for_a_space_that_is_here_already(workspace: Workspace) -> None:
    rows = [(name, 0.1 * i, 1.5, -0.2) for i, name in enumerate(("Pa", "Ga", "Zz"))]
    import_upload(workspace, cases.as_csv(["gene", "d0", "d1", "d2"], rows), "plain.csv")
    more = [(*row, 1_000 + i) for i, row in enumerate(rows)]
    again = import_upload(
        workspace, cases.as_csv(["gene", "d0", "d1", "d2", "n_cells"], more), "more.csv"
    )
    assert "here already, as plain; nothing changed" in again.message
    assert "1 columns left out that are not dimensions (n_cells)" in again.message
