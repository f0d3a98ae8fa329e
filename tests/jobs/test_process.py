"""Which process is on a job, whatever happens to the clock and to its id."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from core.jobs.process import identify_process, lives_here, process_start

DAY_S = 86_400.0


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])
def test_a_clock_that_is_set_makes_no_other_process_of_one(jump_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    identity = identify_process(os.getpid())
    booted_at, created_at = psutil.boot_time(), psutil.Process().create_time()
    monkeypatch.setattr(psutil._psplatform, "boot_time", lambda: booted_at + jump_s)  # as /proc/stat then says
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
    def fail() -> float:
        raise FileNotFoundError("/proc/stat")

    monkeypatch.setattr(psutil, "boot_time", fail)
    assert process_start(os.getpid()) == ""
    assert lives_here(identify_process(os.getpid()))
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    assert process_start(gone.pid) is None


def test_earlier_versions_wrote_the_same() -> None:
    """Ticks since the machine was started, as the 22nd field of /proc/PID/stat has them."""
    try:
        with open(f"/proc/{os.getpid()}/stat", encoding="utf-8") as file:
            ticks = file.read().rpartition(")")[2].split()[19]
    except FileNotFoundError:
        pytest.skip("needs /proc")
    assert process_start(os.getpid()) == ticks
