"""A job's process: killed, stopped, asked to end, started twice, on a full disk. Real processes, of one small job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from filelock import FileLock

from core.base.errors import InputError, StateError
from core.runs.jobs.folder import JobFolder, last_line, log_tail, write_json
from core.runs.jobs.state import (
    NO_REASON,
    STALE_AFTER_S,
    beat,
    identify_process,
    record_ending,
    settle,
    status_of,
    stop,
)
from core.runs.jobs.work import INTERRUPTED, STOPPED, start, work_on
from tests import mounts
from tests.runs.jobs.worker import begin, ending, read_steps, until

STEPS = 40


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return JobFolder(tmp_path / "job")


def test_killed_it_says_so_and_resumed_twice_at_once_it_goes_on_in_one_process(
    folder: JobFolder,
) -> None:
    pid = begin(folder, STEPS)
    with (
        pytest.raises(StateError, match=rf"a worker is running it \(process {pid}\)"),
        work_on(folder),
    ):
        pass
    until(lambda: len(read_steps(folder)) > 2)
    os.kill(pid, signal.SIGKILL)
    until(lambda: status_of(folder).state == "crashed")
    until(lambda: f"process {pid} was killed by SIGKILL" in status_of(folder).cause)
    assert settle(folder)
    before = len(read_steps(folder))
    pids = []
    clicks = [threading.Thread(target=lambda: pids.append(begin(folder, STEPS))) for _ in range(3)]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    assert len(set(pids)) == 1
    until(lambda: status_of(folder).state == "done")
    steps = read_steps(folder)
    assert [int(step) for step, _ in steps] == list(range(STEPS))
    assert {process for _, process in steps[before:]} == {str(pids[0])}


def test_one_that_was_killed_is_waited_for_until_it_lets_go(folder: JobFolder) -> None:
    """The threads of a killed process may hold its lock a moment longer than it counts as alive."""
    folder.path.mkdir()
    write_json(folder.heartbeat, {**identify_process(os.getpid()), "born": "1"})
    holder = FileLock(folder.lock, thread_local=False)
    holder.acquire()
    release = threading.Timer(0.5, holder.release)
    release.start()
    assert status_of(folder).state == "crashed"
    pid = begin(folder, 3)
    assert pid != os.getpid()
    until(lambda: status_of(folder).state == "done")
    assert [process for _, process in read_steps(folder)] == [str(pid)] * 3


@pytest.mark.soak
def test_one_that_is_stopped_by_a_signal_lives_and_goes_on(folder: JobFolder) -> None:
    """As on a laptop that sleeps: no heartbeat for a while, and nobody else may take its place."""
    pid = begin(folder, STEPS)
    try:
        until(lambda: len(read_steps(folder)) > 2)
        os.kill(pid, signal.SIGSTOP)
        past = time.time() - 3600
        os.utime(folder.heartbeat, (past, past))
        assert status_of(folder).state == "running"
        assert not settle(folder)
        assert begin(folder, STEPS) == pid
    finally:
        os.kill(pid, signal.SIGCONT)
    until(lambda: status_of(folder).state == "done")
    assert [int(step) for step, _ in read_steps(folder)] == list(range(STEPS))


@pytest.mark.soak
def test_a_person_ends_it_and_a_signal_interrupts_it(folder: JobFolder) -> None:
    pid = begin(folder, 10_000)
    stop(folder)
    until(lambda: not status_of(folder).is_live)
    assert ending(folder) == ("stopped", STOPPED)
    pid = begin(folder, 10_000)
    assert status_of(folder).state == "running"
    os.kill(pid, signal.SIGTERM)
    until(lambda: not status_of(folder).is_live)
    assert ending(folder) == ("interrupted", INTERRUPTED)


def test_a_signal_at_the_first_heartbeat_interrupts_it(
    folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def beat_once(to, values):
        beat(to, values)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("core.runs.jobs.work.beat", beat_once)
    with pytest.raises(KeyboardInterrupt), work_on(folder):
        pass
    assert ending(folder) == ("interrupted", INTERRUPTED)


def test_an_error_is_its_ending_and_one_before_it_begins_is_told(folder: JobFolder) -> None:
    with pytest.raises(InputError), work_on(folder):
        raise InputError("no cells")
    assert ending(folder) == ("failed", "no cells")
    assert not folder.reserve.exists()
    with pytest.raises(
        StateError, match="status 3 before its first heartbeat; its log says: no such luck"
    ):
        start(folder, ("sh", "-c", "echo no such luck; exit 3"), dict(os.environ))
    with pytest.raises(StateError, match=r"did not start within 0\.2 s"):
        start(folder, ("sleep", "60"), dict(os.environ), within_s=0.2)
    assert (
        log_tail(folder, 2)[0] == "no such luck"
        or "was killed by SIGTERM" in log_tail(folder, 1)[0]
    )


def test_one_that_dies_before_its_first_heartbeat_has_crashed_however_it_ended_before(
    folder: JobFolder,
) -> None:
    folder.path.mkdir(exist_ok=True)
    record_ending(folder, "stopped", "a person ended it")
    with pytest.raises(StateError, match="before its first heartbeat"):
        start(folder, ("sh", "-c", "echo no such luck; kill -9 $$"), dict(os.environ))
    assert status_of(folder).state == "waiting"
    os.utime(folder.control, (0, 0))
    assert status_of(folder).state == "crashed"
    assert "the last line of its log: " in status_of(folder).cause


@pytest.mark.parametrize("is_apart", [True, False])
def test_the_error_of_an_earlier_process_is_not_the_cause_of_a_later_crash(
    folder: JobFolder, is_apart: bool
) -> None:
    with pytest.raises(StateError, match="its log says: no such luck"):
        start(folder, ("sh", "-c", "echo no such luck; exit 3"), dict(os.environ))
    if is_apart:
        with pytest.raises(StateError, match="its log says: nothing"):
            start(folder, ("sh", "-c", "exit 3"), dict(os.environ))
    else:
        with pytest.raises(InputError), work_on(folder):
            raise InputError("no cells")
        folder.done.unlink()  # as one that was killed leaves it
    os.utime(folder.control, (0, 0))
    folder.heartbeat.unlink(missing_ok=True)
    assert ending(folder) == ("crashed", NO_REASON)
    assert log_tail(folder, 2)[0] == "no such luck"  # which a person still reads there
    assert last_line(folder.log) == ""


def test_one_that_is_still_being_started_waits_for_as_long_as_its_starter_lives(
    folder: JobFolder,
) -> None:
    folder.path.mkdir()
    folder.set_command("run")
    past = time.time() - 2 * STALE_AFTER_S
    os.utime(folder.control, (past, past))
    script = "import sys; from filelock import FileLock\nwith FileLock(sys.argv[1]): print(1, flush=True), sys.stdin.read()"
    starter = subprocess.Popen(
        (sys.executable, "-c", script, str(folder.start_lock)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    starter.stdout.readline()
    try:
        assert status_of(folder).state == "waiting"
        assert not settle(folder)
    finally:
        starter.kill()
        starter.communicate()
    assert status_of(folder).state == "crashed"  # the system lets go of a dead one's lock


def test_a_full_disk_is_its_ending(tmp_path: Path) -> None:
    with mounts.small_disk(tmp_path / "disk", 1 << 20) as disk:
        folder = JobFolder(disk / "job")
        with pytest.raises(OSError, match="No space left"), work_on(folder) as reporter:
            mounts.fill(disk)
            reporter.report(0.5, "half")  # which the disk does not take, and which ends nothing
            (disk / "result").write_bytes(b"x" * 100_000)
        assert status_of(folder).state == "failed"
        assert "no space left on the disk" in status_of(folder).cause
        (disk / "filler").unlink()
        with work_on(folder):
            pass
        assert status_of(folder).state == "done"
