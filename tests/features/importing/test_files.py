"""What a file is, by its content alone."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from core.base.errors import InputError, UnknownFormat, UnsafeFile
from core.features.importing import files
from core.features.importing.actions import import_paths
from core.features.importing.files import PackFile, SpaceFile, expand, recognise, recognise_upload
from core.runs.workspace import Workspace
from tests import cases, worlds
from tests.embeddings.test_checkpoints import geneformer
from tests.features.importing.spaces.test_load import MALFORMED, VECTORS, WRITERS

TABLES = {
    "challenge_train": cases.TRAIN,
    "challenge_test": cases.TEST,
    "submission": cases.DEBATES,
    "perturbqa": cases.as_csv(["pert", "gene", "label", "split"], [["AAMP", "BTG1", 1, "train"]]),
}
NAMES = ("a.csv", "a.json", "a.zip", "a", "a.npz")  # what a file is called tells nothing


@pytest.mark.parametrize("kind", [*TABLES, *worlds.PACKS])
def test_tables_and_packs_whatever_they_are_called(tmp_path: Path, kind: str) -> None:
    content = TABLES[kind] if kind in TABLES else worlds.pack(kind)
    for name in NAMES if kind != "perturbqa" else ("k562-de.csv", "k562-de"):
        (tmp_path / name).write_bytes(content)
        found = recognise(tmp_path / name)
        uploaded = recognise_upload(content, name)
        assert (found.kind, uploaded.kind, found.sha256) == (kind, kind, uploaded.sha256)
        assert isinstance(found, PackFile) == (kind in worlds.PACKS)
        if isinstance(found, PackFile):
            assert (found.content, found.rejected) == (content, ())


def test_a_zip_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(cases.as_zip(submission=cases.DEBATES))
    assert recognise(tmp_path / "a.bin").kind == "submission"


@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__.removeprefix("write_"))
def test_every_format_of_a_space(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / "mine.npz"
    write(path)
    for found in (recognise(path), recognise_upload(path.read_bytes(), "mine.npz")):
        assert isinstance(found, SpaceFile)
        assert (found.kind, found.space.name, found.rejected) == ("embedding", "mine", ())
        assert found.sha256 == found.space.sha256
        np.testing.assert_array_equal(found.space.vectors, VECTORS)


@pytest.mark.parametrize("lead", [b"\xef\xbb\xbf", b"\r\n\t ", b"\xef\xbb\xbf\n"])
def test_json_behind_a_byte_order_mark_or_blanks(lead: bytes) -> None:
    assert recognise_upload(lead + worlds.pack("orthologs"), "x").kind == "orthologs"


def test_a_checkpoint_is_one_thing_and_other_folders_are_their_files(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    checkpoint = geneformer(inner / "gf")
    (inner / "train.csv").write_bytes(cases.TRAIN)
    (inner / ".hidden").write_bytes(b"")
    (inner / "notes.pkl").write_bytes(
        b""
    )  # one beside a space does not make its folder a checkpoint
    (inner / "space.safetensors").write_bytes(b"")
    named = tmp_path / "named.csv"
    named.write_bytes(cases.TEST)
    assert expand([named, tmp_path]) == [
        (named, True, ""),
        (checkpoint, False, ""),
        (inner / "notes.pkl", False, ""),
        (inner / "space.safetensors", False, ""),
        (inner / "train.csv", False, ""),
        (named, False, ""),
    ]
    assert expand([checkpoint]) == [(checkpoint, True, "")]
    found = recognise(checkpoint)
    assert isinstance(found, SpaceFile)
    assert (found.space.name, found.space.symbols) == ("gf", ("TP53", "KRAS"))
    with pytest.raises(InputError, match="no such file or folder"):
        expand([named, tmp_path / "gone"])


@pytest.mark.parametrize(
    "content",
    [b"", b"prose about genes", b"a,b\nx,y\n", b"{}", b"[]", b'{"a": {"b": 1}}', b"{not json"],
)
def test_what_nobody_reads_is_unknown(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file.csv").write_bytes(content)
    for look in (
        lambda: recognise(tmp_path / "file.csv"),
        lambda: recognise_upload(content, "file.csv"),
    ):
        with pytest.raises(UnknownFormat) as caught:
            look()
        assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("case", MALFORMED)
def test_a_damaged_space_is_an_input_error_in_one_line(case: str) -> None:
    for name in ("space.x", "space.csv"):
        with pytest.raises(InputError) as caught:
            recognise_upload(MALFORMED[case][0], name)
        assert len(str(caught.value).splitlines()) == 1
        assert not isinstance(caught.value, UnsafeFile)


def escaping(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../submission.csv", cases.DEBATES)


def exploding(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("submission.csv", b"\n" * 10_000_000)


def of_objects(path: Path) -> None:
    np.savez(path, genes=np.array(["A"], dtype=object), vectors=np.ones((1, 2)))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (escaping, "leaves the archive"),
        (exploding, "that unpack to"),
        (of_objects, "pickled array"),
    ],
)
def test_an_unsafe_archive_is_refused(
    tmp_path: Path, write: Callable[[Path], None], message: str
) -> None:
    write(tmp_path / "x.npz")
    for look in (recognise, lambda path: recognise_upload(path.read_bytes(), path.name)):
        with pytest.raises(UnsafeFile, match=message):
            look(tmp_path / "x.npz")


def test_a_file_that_cannot_be_read_says_so() -> None:
    unreadable = Path("/proc/self/mem")  # opens, and fails to be read at its start
    if not unreadable.exists():
        pytest.skip("needs a file that the system does not let anyone read")
    with pytest.raises(InputError, match="/proc/self/mem: cannot be read"):
        recognise(unreadable)


def test_a_folder_with_links_pipes_and_odd_names_is_listed_and_the_rest_imported(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "train.csv").write_bytes(cases.TRAIN)
    (folder / "broken").symlink_to("gone.csv")
    (folder / "itself").symlink_to("itself")
    (folder / "deep" / "up").symlink_to("..")
    (folder / "deep" / "linked.csv").symlink_to("../test.csv")
    (folder / "test.csv").write_bytes(cases.TEST)
    os.mkfifo(folder / "pipe")
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.csv")).write_bytes(cases.TRAIN)
    found = import_paths(workspace, [folder])
    by_name = {Path(outcome.path).name: outcome for outcome in found}
    assert {name: outcome.kind for name, outcome in by_name.items()} == {
        "train.csv": "challenge_train",
        "test.csv": "challenge_test",
        "linked.csv": "challenge_test",
        "broken": "unknown",
        "itself": "unknown",
        "up": "unknown",
        "pipe": "unknown",
        "\udcff.csv": "unknown",
    }
    assert len(found) == 8
    for name, words in (
        ("broken", "a link to 'gone.csv', which does not exist"),
        ("itself", "a link to 'itself', which does not exist"),
        ("up", "a link to a folder above it"),
        ("pipe", "a named pipe, expected a file"),
        ("\udcff.csv", "its name is not UTF-8; rename it"),
    ):
        assert by_name[name].message.endswith(words)


@pytest.mark.soak
def test_folders_nested_deeper_than_calls_and_paths_go(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(2200):  # step by step: a call of the system takes 4,096 characters at most
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        [found] = expand([tmp_path])
        assert "the name is longer than the file system allows" in found.problem
    finally:
        subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


def test_a_checkpoint_with_a_pipe_is_not_opened(tmp_path: Path) -> None:
    checkpoint = geneformer(tmp_path / "gf")
    [weights] = checkpoint.glob("*.safetensors")
    weights.unlink()
    os.mkfifo(weights)
    with pytest.raises(UnknownFormat, match="a named pipe"):
        recognise(checkpoint)


def test_the_home_folder_and_what_contains_it_are_read_on_request_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "people" / "ada"
    (home / "screen").mkdir(parents=True)
    (home / "screen" / "a.csv").write_text("id\n")
    monkeypatch.setattr(Path, "home", lambda: home)
    (tmp_path / "link").symlink_to(home)
    for place in (
        "/",
        home,
        home.parent,
        tmp_path / "link",
        home / "..",
    ):
        with pytest.raises(InputError, match="--recursive imports all of it"):
            expand([Path(place)])
    assert (
        expand([home], recursive=True)
        == expand([home / "screen"])
        == [(home / "screen" / "a.csv", False, "")]
    )
    assert expand([home / "screen" / "a.csv"]) == [(home / "screen" / "a.csv", True, "")]


def test_a_folder_of_too_many_files_is_read_on_request_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 5)
    for i in range(6):
        (tmp_path / f"{i}.csv").write_text("")
    with pytest.raises(InputError, match="more than 5 files"):
        expand([tmp_path])
    assert len(expand([tmp_path], recursive=True)) == 6


def test_links_from_folder_to_folder_are_followed_once(tmp_path: Path) -> None:
    """Thirty folders, each with two links to the next, have a thousand million paths."""
    for i in range(30):
        (tmp_path / str(i)).mkdir()
        for name in ("x", "y"):
            (tmp_path / str(i) / name).symlink_to(tmp_path / str(i + 1))
    (tmp_path / "30").mkdir()
    found = expand([tmp_path / "0"])
    assert {each.problem for each in found} == {"a link to a folder that is read already"}
    assert len(found) == 30
