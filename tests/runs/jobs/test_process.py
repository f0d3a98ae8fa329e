"""Which process is on a job, whatever happens to the clock and to its id."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from core.base.config import REPOSITORY
from core.runs.jobs.folder import JobFolder, write_json
from core.runs.jobs.state import (
    STALE_AFTER_S,
    identify_process,
    lives_here,
    process_start,
    status_of,
)

DAY_S = 86_400.0


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])
def test_a_clock_that_is_set_makes_no_other_process_of_one(
    jump_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = identify_process(os.getpid())
    booted_at, created_at = psutil.boot_time(), psutil.Process().create_time()
    monkeypatch.setattr(
        psutil._psplatform, "boot_time", lambda: booted_at + jump_s
    )  # as /proc/stat then says
    assert psutil.Process().create_time() == pytest.approx(created_at + jump_s)
    assert lives_here(identity)


def test_a_stranger_with_the_id_of_one_that_died_is_another() -> None:
    """Of the same user, with the same command line."""
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as died:
        identity = identify_process(died.pid)
        assert lives_here(identity)
        died.communicate(b"\n")
    assert not lives_here(identity)
    with subprocess.Popen(command, stdin=subprocess.PIPE) as stranger:
        assert not lives_here({**identity, "pid": stranger.pid})
        stranger.communicate(b"\n")


def test_a_zombie_does_not_live() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    identity = identify_process(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not lives_here(identity)
    process.communicate()
    assert process_start(process.pid) is None


def test_where_the_system_does_not_tell_ids_alone_count(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail():
        raise FileNotFoundError("/proc/stat")

    monkeypatch.setattr(psutil, "boot_time", fail)
    assert process_start(os.getpid()) == ""
    assert lives_here(identify_process(os.getpid()))
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    assert process_start(gone.pid) is None


HIDDEN = [
    FileNotFoundError("/proc/stat"),
    psutil.AccessDenied(),
    psutil.NoSuchProcess(1),
]  # no /proc, hidden in it in either way


@pytest.mark.parametrize("error", HIDDEN, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("born", ["1", ""])
def test_a_stranger_with_the_id_of_a_dead_one_is_found_out_after_20_s_where_the_system_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, born: str
) -> None:
    def fail(*_):
        raise error

    monkeypatch.setattr(psutil, "Process", fail)
    folder = JobFolder(tmp_path)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        write_json(folder.heartbeat, {**identify_process(stranger.pid), "born": born})
        assert status_of(folder).state == "running"
        past = time.time() - STALE_AFTER_S - 1
        os.utime(folder.heartbeat, (past, past))
        assert status_of(folder).state == "crashed"
        os.utime(folder.heartbeat)
        stranger.communicate(b"\n")
    assert status_of(folder).state == "crashed"  # nobody has the id


LOOK = (
    "from pathlib import Path; from core.runs.jobs.folder import JobFolder; from core.runs.jobs.state import status_of; "
    + (
        "import os, sys; print(status_of(JobFolder(Path(sys.argv[1]))).state, os.path.exists('/proc/stat'))"
    )
)


def test_without_proc_a_live_one_lives_and_a_dead_one_is_missed(tmp_path: Path) -> None:
    """As a container without /proc has it, in a namespace of its own."""
    hide = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        'mount -t tmpfs none /proc && exec "$@"',
        "sh",
    ]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*hide, "true"], check=False, capture_output=True).returncode
    ):
        pytest.skip("needs unshare, and the right to hide /proc")
    folder = JobFolder(tmp_path)

    def look():
        command = [*hide, sys.executable, "-c", LOOK, str(tmp_path)]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, cwd=REPOSITORY
        ).stdout.strip()

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        write_json(folder.heartbeat, identify_process(process.pid))  # by one that has /proc
        assert look() == "running False"
        past = time.time() - STALE_AFTER_S - 1
        os.utime(folder.heartbeat, (past, past))
        assert look() == "crashed False"
        os.utime(folder.heartbeat)
        process.communicate(b"\n")
    assert look() == "crashed False"
