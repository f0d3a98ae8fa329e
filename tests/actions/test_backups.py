"""A backup, also one that is taken while a run writes, restores to the workspace; anything else restores nothing."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from core.actions import backups, run_control
from core.actions.runs import add_note, save_preset
from core.actions.workspace import Workspace, open_workspace
from core.config import Settings
from core.engine.run_state import status_of
from core.errors import DeskError, InputError, ReadOnly, StateError, StoreTooNew, UnknownFormat, UnsafeFile
from core.hashes import sha256_of_file
from core.store import chain, changes, notes, runs
from core.store.runs import Run
from tests import commands, worlds
from tests.engine.cases import end_worker, fast, recorded, stored_rows, until, until_state, wish, workspace_with
from tests.engine.methods import Asking, apart, here
from tests.engine.test_killed import has_rows
from tests.fakes.scripted import Script, serving

ROWS = 40


def restored(archive: Path, folder: Path) -> Workspace:
    workspace = open_workspace(Settings(workspace=folder, author="tester"))
    backups.restore(workspace, archive)
    return workspace


def rows_of(workspace: Workspace, run: Run) -> pd.DataFrame:
    """Every prediction, without the times that differ from one worker to another."""
    frame = stored_rows(workspace, run.id)
    return frame.drop(columns=[name for name in frame if name.endswith(("_at", "_ms"))])


@pytest.mark.soak
def test_a_backup_of_a_running_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken while rows are journalled and ingested; between the store and the journals of the second, the run ends."""
    workspace = workspace_with(tmp_path / "here", ROWS)
    monkeypatch.setenv("PERTURBDESK_API_KEY", "key-that-no-backup-holds")
    with serving(Script(delay_s=0.02)) as url:
        how, begin = fast(url, rows_in_flight=4, timeout_s=10.0), partial(apart, ingest_every_s=0.02)
        run = run_control.start(workspace, wish(workspace, Asking(), model="scripted"), "r", how, begin=begin)
        try:
            until(partial(has_rows, workspace.run_folder(run.id).rows, 8), "the first rows")
            until(lambda: recorded(workspace, run).done > 0, "the first rows in the store")
            backups.back_up(workspace, tmp_path / "early.zip")
            add_run = backups._add_run
            with monkeypatch.context() as patch:
                patch.setattr(backups, "_add_run", lambda *given: (until_state(workspace, run, "done"), add_run(*given)))
                backups.back_up(workspace, tmp_path / "late.zip")
        finally:
            end_worker(workspace, run)
        expected = rows_of(workspace, run_control.settle(workspace, run.id))
        assert len(expected) == ROWS

        early = restored(tmp_path / "early.zip", tmp_path / "early")
        folder = early.run_folder(run.id)
        assert 0 < recorded(early, run).folded_bytes <= folder.rows.stat().st_size
        assert status_of(folder).state == "crashed"
        before = status_of(folder).counts.done
        assert 8 <= before < ROWS
        ended = run_control.resume(early, run.id, begin=here(Asking()))
        assert (ended.status, ended.done, ended.failed) == ("done", ROWS, 0)
        pd.testing.assert_frame_equal(rows_of(early, run), expected)

    late = restored(tmp_path / "late.zip", tmp_path / "late")
    assert recorded(late, run).done < ROWS
    assert run_control.settle(late, run.id).status == "done"
    pd.testing.assert_frame_equal(rows_of(late, run), expected)
    for archive in ("early.zip", "late.zip"):
        with zipfile.ZipFile(tmp_path / archive) as opened:
            assert not any(b"key-that-no-backup-holds" in opened.read(name) for name in opened.namelist())


@pytest.mark.soak
def test_a_run_that_ends_while_its_journal_is_copied_is_not_said_to_be_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = workspace_with(tmp_path / "here", 4)
    with serving(Script()) as url:
        run = run_control.start(
            workspace, wish(workspace, Asking(), model="scripted"), "r", fast(url, timeout_s=10.0), begin=here(Asking())
        )
    done = workspace.run_folder(run.id).done
    looks = iter([None, done.read_bytes()])  # there was none before the journal, and one after it
    monkeypatch.setattr(backups, "_read", lambda _: next(looks))
    backups.back_up(workspace, tmp_path / "b.zip")
    there = restored(tmp_path / "b.zip", tmp_path / "there")
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
    for name in ("embeddings/s.safetensors", "knowledge/kept/p.json", "knowledge/.p.json.7.part", "fetched/x", "secrets.toml"):
        (here_ / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        (here_ / "data" / name).write_bytes(b"content of " + name.encode())
    out = tmp_path / "b.zip"
    made = commands.core_json(here_, "backup", "--out", str(out))
    assert made == {"path": str(out), "sha256": sha256_of_file(out)}
    with zipfile.ZipFile(out) as archive:
        names = archive.namelist()
        assert json.loads(archive.read(names[-1]))["files"].keys() == set(names[:-1])
    kept = {"data/embeddings/s.safetensors", "data/knowledge/kept/p.json"}
    assert {n for n in names if "duckdb" not in n and "/runs/" not in n} >= kept | {"manifest.json"}
    assert not [n for n in names if any(word in n for word in ("cache", "lock", "desk.log", "fetched", "secrets", ".part"))]

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
def test_read_only_lets_a_backup_out_and_none_in(tmp_path: Path, small_workspace: Workspace) -> None:
    closed = open_workspace(Settings(workspace=small_workspace.settings.workspace, read_only=True))
    backups.back_up(closed, tmp_path / "b.zip")
    with pytest.raises(ReadOnly, match="restore"):
        backups.restore(open_workspace(Settings(workspace=tmp_path / "new", read_only=True)), tmp_path / "b.zip")


def members_of(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


Members = dict[str, bytes]


def with_member(name: str) -> Callable[[Members], Members]:
    """A member of another kind, which the manifest knows."""

    def change(members: Members) -> Members:
        manifest = json.loads(members.pop("manifest.json"))
        manifest["files"][name] = {"sha256": sha256_of_file(Path(__file__)), "bytes": Path(__file__).stat().st_size}
        return {**members, name: Path(__file__).read_bytes(), "manifest.json": json.dumps(manifest).encode()}

    return change


def in_manifest(**changed: Any) -> Callable[[Members], Members]:
    return lambda members: {
        **members,
        "manifest.json": json.dumps({**json.loads(members["manifest.json"]), **changed}).encode(),
    }


SPOILED: dict[str, tuple[Callable[[Members], Members], type[DeskError]]] = {
    "a changed file": (lambda members: {**members, "data/desk.duckdb": members["data/desk.duckdb"] + b"x"}, InputError),
    "a missing file": (lambda members: {n: c for n, c in members.items() if n != "data/desk.duckdb"}, InputError),
    "a file that is not listed": (lambda members: {"data/knowledge/x": b"x", **members}, InputError),
    "a path outside": (with_member("../outside"), UnsafeFile),
    "an absolute path": (with_member("/tmp/outside"), UnsafeFile),
    "a path with a way up": (with_member("data/knowledge/../../x"), UnsafeFile),
    "a secret": (with_member(".streamlit/secrets.toml"), UnsafeFile),
    "a worker's heartbeat": (with_member("data/runs/abc/heartbeat"), UnsafeFile),
    "a lock": (with_member("data/desk.duckdb.lock"), UnsafeFile),
    "a folder": (with_member("data/knowledge/sub/"), UnsafeFile),
    "another format": (in_manifest(format="tar"), UnknownFormat),
    "a later version": (in_manifest(version=2), UnknownFormat),
    "no list": (in_manifest(files=3), InputError),
    "no manifest": (lambda members: {n: c for n, c in members.items() if n != "manifest.json"}, UnknownFormat),
}


@pytest.fixture(scope="module")
def backup_file(demo_workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return backups.back_up(demo_workspace, tmp_path_factory.mktemp("backup") / "b.zip").path


def refused(folder: Path, archive: Path, kind: type[DeskError]) -> str:
    """What is said of an archive of which nothing is restored."""
    workspace = open_workspace(Settings(workspace=folder / "new"))
    with pytest.raises(kind) as caught:
        backups.restore(workspace, archive)
    assert type(caught.value) is kind
    assert list((folder / "new").rglob("*")) == [folder / "new" / "data"]
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.few(8)
@pytest.mark.parametrize("what", SPOILED)
def test_a_spoiled_backup_restores_nothing(backup_file: Path, tmp_path: Path, what: str) -> None:
    change, kind = SPOILED[what]
    with zipfile.ZipFile(tmp_path / "spoiled.zip", "w") as archive:
        for name, content in change(members_of(backup_file)).items():
            archive.writestr(name, content)
    refused(tmp_path, tmp_path / "spoiled.zip", kind)


def test_a_link_restores_nothing(backup_file: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "spoiled.zip", "w") as archive:
        for name, content in with_member("data/knowledge/link")(members_of(backup_file)).items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (0o120777 if name.endswith("link") else 0o100600) << 16
            archive.writestr(info, content)
    assert "is a link" in refused(tmp_path, tmp_path / "spoiled.zip", UnsafeFile)


def test_damaged_bytes_restore_nothing(backup_file: Path, tmp_path: Path) -> None:
    content = backup_file.read_bytes()
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 1
    for name, damaged in {"cut": content[:-100], "flipped": bytes(flipped), "empty": b"", "other": b"PK\x03\x04nothing"}.items():
        (tmp_path / name).mkdir()
        file = tmp_path / name / "b.zip"
        file.write_bytes(damaged)
        assert "damaged" in refused(tmp_path / name, file, InputError)


def test_a_later_store_restores_nothing(tmp_path: Path, small_workspace: Workspace) -> None:
    with small_workspace.store.write() as db:
        db.execute("INSERT INTO schema_version SELECT max(version) + 1, 'later', now()::TIMESTAMP FROM schema_version")
    later = backups.back_up(small_workspace, tmp_path / "later.zip").path
    assert "update PerturbDesk" in refused(tmp_path, later, StoreTooNew)


def test_something_else_in_the_workspace_is_left_alone(backup_file: Path, tmp_path: Path) -> None:
    note = tmp_path / "new" / "data" / "embeddings" / "mine.safetensors"
    note.parent.mkdir(parents=True)
    note.write_bytes(b"mine")
    with pytest.raises(StateError, match=r"contains data/embeddings/mine\.safetensors"):
        backups.restore(open_workspace(Settings(workspace=tmp_path / "new")), backup_file)
    assert [path for path in (tmp_path / "new").rglob("*") if path.is_file()] == [note]


def with_store(archive: Path, out: Path, file: Path, **more: Any) -> Path:
    """A backup with another store, which its list vouches for."""
    members = members_of(archive)
    manifest = json.loads(members.pop("manifest.json"))
    members["data/desk.duckdb"] = file.read_bytes()
    manifest["files"]["data/desk.duckdb"] = {"sha256": sha256_of_file(file), "bytes": file.stat().st_size}
    with zipfile.ZipFile(out, "w") as made:
        for name, content in {**members, "manifest.json": json.dumps(manifest | more).encode()}.items():
            made.writestr(name, content)
    return out


def store_of(archive: Path, folder: Path, *statements: str) -> Path:
    """The store of a backup, changed by somebody."""
    file = folder / "changed.duckdb"
    file.write_bytes(members_of(archive)["data/desk.duckdb"])
    with worlds.opened_directly(file) as db:
        for statement in statements:
            db.execute(statement)
    return file


@pytest.mark.soak
def test_a_store_with_a_view_for_a_table_restores_nothing(backup_file: Path, tmp_path: Path) -> None:
    view = "CREATE VIEW note AS SELECT content AS id FROM read_text('/etc/passwd')"
    hostile = with_store(backup_file, tmp_path / "hostile.zip", store_of(backup_file, tmp_path, "DROP TABLE note", view))
    assert "note is a view in its store" in refused(tmp_path, hostile, UnsafeFile)


def test_what_a_store_holds_beside_its_tables_is_left_out_and_said(backup_file: Path, tmp_path: Path) -> None:
    trigger = "CREATE TRIGGER spy AFTER INSERT ON trail FOR EACH STATEMENT INSERT INTO gene VALUES ('x', 'y', 'z')"
    store = store_of(backup_file, tmp_path, "CREATE MACRO now() AS TIMESTAMP '2020-01-01'", trigger)
    hostile = with_store(backup_file, tmp_path / "hostile.zip", store)
    done = commands.core(tmp_path / "new", "restore", str(hostile))
    assert (done.status, "left out of its store: macro now, trigger spy" in done.err) == (0, True)
    with open_workspace(Settings(workspace=tmp_path / "new")).store.read() as db:
        detail = changes.latest(db, 1)["detail"].item()
    assert json.loads(detail)["left_out"] == ["macro now", "trigger spy"]


def test_a_restored_audit_log_that_is_broken_is_said(backup_file: Path, tmp_path: Path) -> None:
    store = store_of(backup_file, tmp_path, "UPDATE trail SET author = 'Eve' WHERE position = 1")
    spoiled = with_store(backup_file, tmp_path / "spoiled.zip", store)
    done = commands.core(tmp_path / "new", "restore", str(spoiled))
    assert done.status == 0
    assert "warning: Audit log: broken from entry 1" in done.err
    assert commands.core_json(tmp_path / "new", "doctor")["chains"][1]["broken_from"] == 1


@pytest.mark.soak
def test_a_store_that_is_older_than_the_backups_list_says_is_said(backup_file: Path, tmp_path: Path) -> None:
    """The end of both chains was cut off, which only the list in the backup knows."""
    store = store_of(backup_file, tmp_path, "DELETE FROM trail")
    restored_ = with_store(backup_file, tmp_path / "cut.zip", store)
    workspace = open_workspace(Settings(workspace=tmp_path / "new"))
    assert backups.restore(workspace, restored_).problems == [
        "The head of the audit log in the backup's list differs from that in its store."
    ]


@pytest.mark.soak
def test_a_backup_states_the_heads_of_the_chains(backup_file: Path, tmp_path: Path) -> None:
    there = restored(backup_file, tmp_path / "there")
    stated = json.loads(members_of(backup_file)["manifest.json"])["heads"]["audit log"]
    with there.store.read() as db:
        assert chain.find_head(db, stated["hash"]) == ("audit log", stated["entries"])
        assert [each.is_intact for each in chain.verify(db)] == [True, True]
        assert len(changes.latest(db)) == stated["entries"] + 1
