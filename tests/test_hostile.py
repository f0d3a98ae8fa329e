"""Every attack of tests/attacks.py in this process; some in processes of their own. soak/test_hostile.py takes all of them so."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from core.cli import base
from core.runs import actions as runs
from tests import commands, worlds
from tests.attacks import ATTACKS, Attack

ROOT = Path(__file__).resolve().parent.parent
LONGEST_S = 60  # no limit on speed: it ends what waits for ever


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small workspace, which no attack may change."""
    place = tmp_path_factory.mktemp("hostile") / "workspace"
    workspace = worlds.workspace_in(place)
    worlds.import_small(workspace)
    return place


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of what is free may be much."""
    monkeypatch.setattr("core.base.file_limits.memory_for_reading", lambda: 500_000_000)


@pytest.fixture(autouse=True)
def ends() -> Iterator[None]:
    """Ends a test that waits for ever."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"not done after {LONGEST_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(LONGEST_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def contents(workspace: Path) -> dict[str, str]:
    """The hash of every file but the log."""
    return {
        str(file.relative_to(workspace)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(workspace.rglob("*"))
        if file.is_file() and not file.name.startswith("desk.log")
    }


def place_of(attack: Attack, desk: Path, folder: Path) -> Path:
    """The workspace, or a spoilt copy of it."""
    if attack.spoils is None:
        return desk
    copy = folder / "workspace"
    shutil.copytree(desk, copy)
    attack.spoils(copy)
    return copy


@pytest.mark.few(4)
@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_is_one_line_and_changes_nothing(attack: Attack, desk: Path, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    arguments = [argument.replace("WORKSPACE", str(desk)) for argument in attack.make(folder)]
    place = place_of(attack, desk, tmp_path)
    before = contents(place)
    no_progress = mock.patch.object(
        base, "FIRST_S", threading.TIMEOUT_MAX
    )  # which a slow machine would get
    with mock.patch.dict(os.environ, attack.environment), no_progress:
        done = commands.core(place, *arguments)
    assert done.status == 1, (done.out, done.err)
    line, *rejected_rows = done.err.splitlines()
    assert len(rejected_rows) == attack.rejects
    assert line.isprintable()
    assert "Traceback" not in line
    assert "this is a bug" not in line
    assert attack.words in line
    assert len(line) < 2000
    assert contents(place) == before


def in_a_process(*arguments: str | bytes, **more: Any) -> subprocess.CompletedProcess[bytes]:
    """A command in a process of its own."""
    environment = {**os.environ, **more.pop("environment", {})}
    command = [sys.executable, "-m", "core", *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        check=False,
        timeout=LONGEST_S,
        **more,
    )


def test_bytes_that_are_no_text(desk: Path) -> None:
    done = in_a_process("--workspace", str(desk), "import", b"/tmp/\xff\xfe.csv")
    assert done.returncode == 1
    assert b"byte 0xFF is not UTF-8" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written(desk: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = in_a_process("--workspace", str(desk), "runs", stdout=full)
    assert done.returncode == 1
    [line] = done.stderr.decode().splitlines()
    assert line == "error: no space left where the output is written; free some space and try again"


@pytest.mark.soak
def test_a_terminal_without_the_characters(desk: Path) -> None:
    done = in_a_process(
        "--workspace",
        str(desk),
        "score",
        "debate",
        stdout=subprocess.PIPE,
        environment={"PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


@pytest.mark.soak
def test_a_workspace_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for environment in (
        {"PERTURBDESK_WORKSPACE": str(tmp_path / "file")},
        {"PERTURBDESK_WORKSPACE": str(tmp_path / "file" / "x")},
    ):
        done = in_a_process("runs", environment=environment)
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1


def test_an_error_that_nobody_foresaw_is_one_line(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_, **__):
        raise ZeroDivisionError("planted\nin two lines")

    monkeypatch.setattr(runs, "rename", fail)
    done = commands.core(desk, "runs rename debate other")
    assert (done.status, len(done.err.splitlines())) == (1, 1)
    assert done.err.startswith("error: ZeroDivisionError: planted in two lines; this is a bug")
    assert "Traceback" in (desk / "data" / "desk.log").read_text("utf-8")
