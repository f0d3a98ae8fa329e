"""An upload whose reader or whose app is killed: the store is as before, nothing is left behind, and the next one works."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from core.base import file_io
from core.base.config import REPOSITORY, Settings
from core.base.errors import DiskFull
from core.features.cells import predictions
from core.features.cells.predictions import PredictionOptions
from core.features.importing import actions as imports
from core.features.importing.import_target import ImportOptions
from core.features.importing.roles import TableOptions
from core.runs.workspace import Workspace, open_workspace
from core.store import changes
from tests import cases, mounts

WAIT_S = 60.0
SHARED = "https://desk.example.org"
# Nothing is saved of earlier tables, so that only the reader waits for the store.
NOTHING_SAVED = ImportOptions(table=TableOptions(saved={}))
# The app, of which only the import matters here.
APP = """
import sys
from pathlib import Path
from core.base.config import Settings
from core.features.importing.roles import TableOptions
from core.features.importing import actions as imports
from core.runs.workspace import open_workspace
workspace = open_workspace(Settings(workspace=Path(sys.argv[1]), base_url=sys.argv[2]))
table = TableOptions(saved={})
options = imports.ImportOptions(table=table)
imports.import_uploads(workspace, [("train.csv", sys.stdin.buffer.read())], options)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder for temporary files, of this test alone."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    file_io._remove_folders_once.cache_clear()
    return place


def workspace_of(folder: Path, base_url: str) -> Workspace:
    workspace = open_workspace(
        Settings(workspace=folder, author="Ada <ada@example.org>", base_url=base_url)
    )
    with workspace.store.read():
        pass
    return workspace


def until_reader(process: psutil.Process) -> psutil.Process:
    """Wait for the process that reads an upload, until it has opened the store's lock."""
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        for child in process.children():
            try:
                if "core.runs.upload_process" in child.cmdline() and is_at_the_store(child):
                    return child
            except psutil.Error:
                continue
        time.sleep(0.02)
    raise AssertionError("no process reads the upload")


def is_at_the_store(process: psutil.Process) -> bool:
    return any(file.path.endswith("desk.duckdb.lock") for file in process.open_files())


def is_untouched(workspace: Workspace) -> bool:
    with workspace.store.read() as db:
        return changes.latest(db).empty


def imports_now(workspace: Workspace) -> bool:
    """Whether the same file is imported by the next; here, which is quicker than in a process of its own."""
    own = replace(workspace, settings=replace(workspace.settings, base_url=""))
    [outcome] = imports.import_uploads(own, [("train.csv", cases.TRAIN)])
    return (outcome.kind, outcome.rows, outcome.new) == ("challenge_train", 4, True)


@pytest.mark.soak
def test_a_reader_that_is_killed_leaves_nothing(temporary: Path, tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path / "here", SHARED)
    outcomes = []
    importing = threading.Thread(
        target=lambda: outcomes.extend(
            imports.import_uploads(workspace, [("train.csv", cases.TRAIN)], NOTHING_SAVED)
        )
    )
    with workspace.store.write():  # the reader waits for the store
        importing.start()
        until_reader(psutil.Process()).kill()
        importing.join(WAIT_S)
    assert [outcome.kind for outcome in outcomes] == ["failed"]
    assert is_untouched(workspace)
    assert list(temporary.iterdir()) == []
    assert imports_now(workspace)


@pytest.mark.soak
@pytest.mark.parametrize("base_url", [SHARED, ""], ids=["shared", "own"])
def test_an_app_that_is_killed_takes_its_reader_along_and_leaves_nothing_for_long(
    temporary: Path, tmp_path: Path, base_url: str
) -> None:
    workspace = workspace_of(tmp_path / "here", base_url)
    with workspace.store.write():
        app = subprocess.Popen(
            [sys.executable, "-c", APP, str(tmp_path / "here"), base_url],
            cwd=REPOSITORY,
            stdin=subprocess.PIPE,
            env=os.environ,
        )
        app.stdin.write(cases.TRAIN)
        app.stdin.close()
        here = psutil.Process(app.pid)
        if base_url:
            reader = until_reader(here)
        else:
            until(lambda: is_at_the_store(here))
        app.send_signal(signal.SIGKILL)
        app.wait(WAIT_S)
        if base_url:
            reader.wait(WAIT_S)
            assert len(list(temporary.iterdir())) == 1
    assert is_untouched(workspace)
    assert imports_now(workspace)
    assert list(temporary.iterdir()) == []


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.few(1)
@pytest.mark.parametrize("base_url", [SHARED, ""], ids=["shared", "own"])
def test_an_upload_that_finds_no_room_among_temporary_files_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, base_url: str
) -> None:
    workspace = workspace_of(tmp_path / "here", base_url)
    with mounts.small_disk(tmp_path / "disk", 1 << 20) as disk:
        monkeypatch.setattr(tempfile, "tempdir", str(disk))
        filler = mounts.fill(disk)
        [outcome] = imports.import_uploads(workspace, [("train.csv", cases.TRAIN)])
        assert outcome.kind == "failed"
        assert f"no space left on the disk (0.0 MB are free in {disk}" in outcome.message
        with pytest.raises(DiskFull, match="no space left on the disk"):
            predictions.import_uploaded(
                workspace, ("t.csv", b"pert,gene,log2_fc\nPa,Ga,1\n"), None, PredictionOptions()
            )
        assert list(disk.iterdir()) == [filler]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert is_untouched(workspace)
    assert imports_now(workspace)


@pytest.mark.soak
@pytest.mark.parametrize("base_url", [SHARED, ""], ids=["shared", "own"])
def test_an_upload_that_finds_no_room_in_the_workspace_says_so(
    tmp_path: Path, base_url: str
) -> None:
    rows = "".join(f"P{i}_G{i},P{i},G{i}\n" for i in range(40_000))
    with mounts.small_disk(tmp_path / "disk", 4 << 20) as disk:
        workspace = workspace_of(disk / "here", base_url)
        filler = mounts.fill(disk, 200 << 10)
        [outcome] = imports.import_uploads(
            workspace, [("more.csv", f"id,pert,gene\n{rows}".encode())], ImportOptions()
        )
        assert outcome.kind == "failed"
        assert "no space left on the disk" in outcome.message
        filler.unlink()
        assert is_untouched(workspace)
        assert imports_now(workspace)
