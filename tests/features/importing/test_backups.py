"""A backup, also one that is taken while a run writes, restores to the workspace; anything else restores nothing."""

from __future__ import annotations

import io
import shutil
import tarfile
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from core.base.config import Settings
from core.base.errors import (
    DeskError,
    InputError,
    ReadOnly,
    StateError,
    StoreOtherSchema,
    UnsafeFile,
)
from core.base.hashes import sha256_of, sha256_of_file
from core.features.importing import backups
from core.runs import run_control
from core.runs.actions import add_note, save_preset
from core.runs.run_state import status_of
from core.runs.workspace import Workspace, open_workspace
from core.store import notes, runs
from core.store.runs import Run
from tests import commands, worlds
from tests.fakes.scripted import Script, serving
from tests.runs.cases import (
    end_worker,
    fast,
    recorded,
    run_here,
    stored_rows,
    until,
    until_state,
    wish,
    workspace_with,
)
from tests.runs.methods import Asking, apart, here
from tests.runs.test_killed import has_rows

ROWS = 40


def restored(archive: Path, folder: Path) -> Workspace:
    workspace = worlds.workspace_in(folder)
    backups.restore(workspace, archive)
    return workspace


def rows_of(workspace: Workspace, run: Run) -> pd.DataFrame:
    """Every prediction, without the times that differ from one worker to another."""
    frame = stored_rows(workspace, run.id)
    return frame.drop(columns=[name for name in frame if name.endswith(("_at", "_ms"))])


@pytest.mark.soak
def test_a_backup_of_a_running_run_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken while rows are journalled and ingested; between the store and the journals of the second, the run ends."""
    workspace = workspace_with(tmp_path / "here", ROWS)
    monkeypatch.setenv("PERTURBDESK_API_KEY", "key-that-no-backup-holds")
    with serving(Script(delay_s=0.02)) as url:
        how, begin = (
            fast(url, rows_in_flight=4, timeout_s=10.0),
            partial(apart, ingest_every_s=0.02),
        )
        run = run_control.start(
            workspace, wish(workspace, Asking(), model="scripted"), "r", how, begin=begin
        )
        try:
            until(partial(has_rows, workspace.run_folder(run.id).rows, 8), "the first rows")
            until(lambda: recorded(workspace, run).done > 0, "the first rows in the store")
            backups.back_up(workspace, tmp_path / "early.tar")
            add_run = backups._add_run
            with monkeypatch.context() as patch:
                patch.setattr(
                    backups,
                    "_add_run",
                    lambda *given: (until_state(workspace, run, "done"), add_run(*given)),
                )
                backups.back_up(workspace, tmp_path / "late.tar")
        finally:
            end_worker(workspace, run)
        expected = rows_of(workspace, run_control.settle(workspace, run.id))
        assert len(expected) == ROWS

        early = restored(tmp_path / "early.tar", tmp_path / "early")
        folder = early.run_folder(run.id)
        assert 0 < recorded(early, run).folded_bytes <= folder.rows.stat().st_size
        assert status_of(folder).state == "crashed"
        before = status_of(folder).counts.done
        assert 8 <= before < ROWS
        ended = run_control.resume(early, run.id, begin=here(Asking()))
        assert (ended.status, ended.done, ended.failed) == ("done", ROWS, 0)
        pd.testing.assert_frame_equal(rows_of(early, run), expected)

    late = restored(tmp_path / "late.tar", tmp_path / "late")
    assert recorded(late, run).done < ROWS
    assert run_control.settle(late, run.id).status == "done"
    pd.testing.assert_frame_equal(rows_of(late, run), expected)
    for archive in ("early.tar", "late.tar"):
        assert b"key-that-no-backup-holds" not in (tmp_path / archive).read_bytes()


@pytest.mark.soak
def test_a_run_that_ends_while_its_journal_is_copied_is_not_said_to_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_with(tmp_path / "here", 4)
    with serving(Script()) as url:
        run = run_here(workspace, Asking(), fast(url, timeout_s=10.0), model="scripted")
    done = workspace.run_folder(run.id).done
    looks = iter([None, done.read_bytes()])  # there was none before the journal, and one after it
    monkeypatch.setattr(backups, "_read", lambda _: next(looks))
    backups.back_up(workspace, tmp_path / "b.tar")
    there = restored(tmp_path / "b.tar", tmp_path / "there")
    assert not there.run_folder(run.id).done.exists()
    assert run_control.resume(there, run.id, begin=here(Asking())).status == "done"


def test_everything_that_is_precious_comes_back(tmp_path: Path, demo_workspace: Workspace) -> None:
    """From the command line; caches, locks, logs and what a person laid beside stay out."""
    here_ = tmp_path / "here"
    shutil.copytree(demo_workspace.settings.workspace, here_)
    workspace = open_workspace(Settings(workspace=here_, author="Ada"))
    with workspace.store.read() as db:
        run = runs.list_all(db)[0]
    add_note(workspace, run.id, None, "keep this")
    save_preset(workspace, "debates", "mine", {"a": 1})
    kept = {
        f"data/{folder}/kept/x"
        for folder in ("knowledge", "embeddings", "prompts", "cells", "comparisons")
    }
    for name in (
        *kept,
        "data/knowledge/.p.json.7.part",
        "data/cells/.a.1.part/x",
        "data/fetched/x",
        "data/secrets.toml",
    ):
        (here_ / name).parent.mkdir(parents=True, exist_ok=True)
        (here_ / name).write_bytes(b"content of " + name.encode())
    out = tmp_path / "b.tar"
    made = commands.core_json(here_, "backup", "--out", str(out))
    assert made == {"path": str(out), "sha256": sha256_of_file(out)}
    members = members_of(out)
    names = list(members)
    assert [line[66:] for line in members[names[-1]].decode().splitlines()] == names[:-1]
    assert {n for n in names if "duckdb" not in n and "/runs/" not in n} >= kept | {"SHA256SUMS"}
    assert not [
        n
        for n in names
        if any(word in n for word in ("cache", "lock", "desk.log", "fetched", "secrets", ".part"))
    ]

    there = tmp_path / "there"
    assert commands.core_json(there, "restore", str(out)) == made
    assert commands.core_json(there, "runs") == commands.core_json(here_, "runs")
    for name in kept:
        assert (there / name).read_bytes() == (here_ / name).read_bytes()
    with open_workspace(Settings(workspace=there)).store.read() as db:
        assert notes.of_run(db, run.id)["text"].tolist() == ["keep this"]
        assert notes.presets_of_page(db, "debates") == {"mine": {"a": 1}}
    assert not list((there / "data").glob(".restoring*"))

    again = commands.core(there, "restore", str(out))
    assert (again.status, "expected an empty workspace" in again.err) == (1, True)
    taken = commands.core(here_, "backup", "--out", str(out))
    assert (taken.status, "exists" in taken.err) == (1, True)
    assert commands.core(here_, "backup", "--out", str(out), "--replace").status == 0


@pytest.mark.soak
def test_read_only_lets_a_backup_out_and_none_in(
    tmp_path: Path, small_workspace: Workspace
) -> None:
    closed = open_workspace(Settings(workspace=small_workspace.settings.workspace, read_only=True))
    backups.back_up(closed, tmp_path / "b.tar")
    with pytest.raises(ReadOnly, match="restore"):
        backups.restore(
            open_workspace(Settings(workspace=tmp_path / "new", read_only=True)), tmp_path / "b.tar"
        )


Members = dict[str, bytes]


def members_of(file: Path) -> Members:
    with tarfile.open(file) as tar:
        return {name: read(tar, name) for name in tar.getnames()}


def read(tar: tarfile.TarFile, name: str) -> bytes:
    content = tar.extractfile(name)
    return content.read()


def write(
    file: Path, members: Members, *, sums: bool = True, kind: bytes = tarfile.REGTYPE, of: str = ""
) -> Path:
    """A tar of these members whose list fits. kind: of the member `of`, which leads to /etc/passwd if it leads anywhere."""
    listed = "".join(
        f"{sha256_of(content)}  {name}\n"
        for name, content in members.items()
        if name != backups.SUMS
    )
    with tarfile.open(file, "w") as tar:
        for name, content in {
            **members,
            **({backups.SUMS: listed.encode()} if sums else {}),
        }.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            if name == of:
                member.type, member.linkname, member.size = kind, "/etc/passwd", 0
            tar.addfile(member, io.BytesIO(content))
    return file


STORE = "data/desk.duckdb"
UNLISTED = {
    "a changed file": lambda members: {**members, STORE: members[STORE] + b"x"},
    "a missing file": lambda members: {
        name: content for name, content in members.items() if name != STORE
    },
    "a file that is not listed": lambda members: {"data/knowledge/x": b"x", **members},
    "no list": lambda members: {
        name: content for name, content in members.items() if name != backups.SUMS
    },
    "no list of lines": lambda members: {**members, backups.SUMS: b"\xff\n"},
}
NO_FILES_OF_A_BACKUP = (
    "../outside",
    "/tmp/outside",
    "data/knowledge/../../x",
    ".streamlit/secrets.toml",
    "data/runs/abc/heartbeat",
    "data/desk.duckdb.lock",
    "data/fetched/x",
    "data/knowledge",
)
KINDS = (
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.FIFOTYPE,
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
    tarfile.DIRTYPE,
)


@pytest.fixture(scope="module")
def backup_file(demo_workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return backups.back_up(demo_workspace, tmp_path_factory.mktemp("backup") / "b.tar").path


def refused(folder: Path, archive: Path, kind: type[DeskError]) -> str:
    """What is said of an archive of which nothing is restored."""
    workspace = open_workspace(Settings(workspace=folder / "new"))
    with pytest.raises(kind) as caught:
        backups.restore(workspace, archive)
    assert type(caught.value) is kind
    assert list((folder / "new").rglob("*")) == [folder / "new" / "data"]
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("what", UNLISTED)
def test_a_backup_whose_files_are_not_those_in_its_list_restores_nothing(
    backup_file: Path, tmp_path: Path, what: str
) -> None:
    spoiled = write(tmp_path / "spoiled.tar", UNLISTED[what](members_of(backup_file)), sums=False)
    assert "damaged" in refused(tmp_path, spoiled, InputError)


@pytest.mark.parametrize("name", NO_FILES_OF_A_BACKUP)
def test_a_file_that_belongs_into_no_backup_restores_nothing(
    backup_file: Path, tmp_path: Path, name: str
) -> None:
    spoiled = write(tmp_path / "spoiled.tar", {**members_of(backup_file), name: b"x"})
    assert "no file of a backup" in refused(tmp_path, spoiled, UnsafeFile)


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_a_device_or_a_folder_restores_nothing(
    backup_file: Path, tmp_path: Path, kind: bytes
) -> None:
    name = "data/knowledge/x"
    spoiled = write(
        tmp_path / "spoiled.tar", {**members_of(backup_file), name: b""}, kind=kind, of=name
    )
    assert "no file of a backup" in refused(tmp_path, spoiled, UnsafeFile)


def test_a_member_that_stands_twice_restores_nothing(backup_file: Path, tmp_path: Path) -> None:
    spoiled = tmp_path / "spoiled.tar"
    shutil.copy(backup_file, spoiled)
    with tarfile.open(spoiled, "a") as tar:
        tar.addfile(tarfile.TarInfo(STORE))
    assert "no file of a backup" in refused(tmp_path, spoiled, UnsafeFile)


def test_damaged_bytes_restore_nothing(backup_file: Path, tmp_path: Path) -> None:
    content = backup_file.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    last = len(content) - len(content) % 512 - 40 * 512
    cut = {"cut": content[:-20_000], "cut between blocks": content[:last]}
    for name, damaged in {
        **cut,
        "flipped": bytes(flipped),
        "empty": b"",
        "other": b"PK\x03\x04nothing",
    }.items():
        (tmp_path / name).mkdir()
        file = tmp_path / name / "b.tar"
        file.write_bytes(damaged)
        assert "damaged" in refused(tmp_path / name, file, InputError)


def test_a_store_of_another_schema_restores_nothing(
    tmp_path: Path, small_workspace: Workspace
) -> None:
    out = backups.back_up(small_workspace, tmp_path / "b.tar").path
    changed = tmp_path / "changed.duckdb"
    changed.write_bytes(members_of(out)[STORE])
    with worlds.opened_directly(changed) as db:
        db.execute("UPDATE schema_hash SET sha256 = repeat('ab', 32)")
    other = write(tmp_path / "other.tar", {**members_of(out), STORE: changed.read_bytes()})
    assert "another version" in refused(tmp_path, other, StoreOtherSchema)


def test_something_else_in_the_workspace_is_left_alone(backup_file: Path, tmp_path: Path) -> None:
    note = tmp_path / "new" / "data" / "embeddings" / "mine.safetensors"
    note.parent.mkdir(parents=True)
    note.write_bytes(b"mine")
    with pytest.raises(StateError, match=r"contains data/embeddings/mine\.safetensors"):
        backups.restore(open_workspace(Settings(workspace=tmp_path / "new")), backup_file)
    assert [path for path in (tmp_path / "new").rglob("*") if path.is_file()] == [note]


def files_of(workspace: Workspace) -> set[Path]:
    return {
        path
        for path in workspace.settings.data.rglob("*")
        if path.suffix not in (".wal", ".holder")
    }


def test_a_restore_that_was_killed_at_its_end_is_given_again(
    backup_file: Path, tmp_path: Path
) -> None:
    """What it moved is in its place; only its word is missing."""
    workspace = restored(backup_file, tmp_path / "new")
    record = workspace.settings.data / backups._UNFINISHED
    assert not record.exists()
    record.write_text("\n".join([sha256_of_file(backup_file), "runs", STORE]))
    before = files_of(workspace)
    assert backups.restore(workspace, backup_file).sha256 == sha256_of_file(backup_file)
    assert files_of(workspace) == before - {record}
    assert not record.exists()
    with pytest.raises(StateError, match="expected an empty workspace"):
        backups.restore(workspace, backup_file)
