"""What a job's folder shows: clocks that jump, processes that are stopped or gone, and what is recorded of a crash."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from core.base.errors import StateError
from core.base.log import LOGGER
from core.runs.jobs.folder import JobFolder, write_json
from core.runs.jobs.state import (
    NO_REASON,
    STALE_AFTER_S,
    JobStatus,
    beat,
    describe_silence,
    exclusive_lock,
    identify_process,
    is_held,
    live_heartbeat,
    record_ending,
    settle,
    status_of,
    stop,
)
from tests.runs.jobs.worker import ending

DAY_S = 86_400.0
JUMPS = [DAY_S, -DAY_S]


@pytest.fixture
def folder(tmp_path: Path) -> JobFolder:
    return JobFolder(tmp_path)


def shift(file: Path, seconds: float) -> None:
    """Dates a file as if the clock had been set back by so many seconds since."""
    at = time.time() + seconds
    os.utime(file, (at, at))


def leave_dead(folder: JobFolder) -> None:
    write_json(folder.heartbeat, {**identify_process(os.getpid()), "born": "1"})


@pytest.mark.parametrize("jump_s", JUMPS)
def test_a_process_that_holds_its_job_is_on_it_whatever_the_clock_says(
    folder: JobFolder, jump_s: float
) -> None:
    beat(folder, {"share": 0.5})
    with exclusive_lock(folder):
        shift(folder.heartbeat, jump_s)
        assert status_of(folder).state == "running"
        assert status_of(folder).said["share"] == 0.5
        assert "it may be suspended" in describe_silence(folder, live_heartbeat(folder))
    assert status_of(folder).state == "crashed"  # it lives, and let go of the job without an ending


@pytest.mark.parametrize("jump_s", JUMPS)
def test_one_of_another_machine_is_not_alive_for_a_day(folder: JobFolder, jump_s: float) -> None:
    write_json(folder.heartbeat, {**identify_process(os.getpid()), "host": "elsewhere"})
    assert status_of(folder).state == "running"
    shift(folder.heartbeat, jump_s)
    assert status_of(folder).state == "crashed"


@pytest.mark.parametrize("jump_s", JUMPS)
def test_one_that_was_asked_for_is_not_awaited_for_a_day(folder: JobFolder, jump_s: float) -> None:
    folder.set_command("run")
    assert status_of(folder).state == "waiting"
    shift(folder.control, jump_s)
    assert status_of(folder).state == "crashed"


def test_one_that_is_resumed_after_the_clock_was_set_back_is_awaited(folder: JobFolder) -> None:
    leave_dead(folder)
    shift(folder.heartbeat, DAY_S)
    folder.set_command("run")
    assert status_of(folder).state == "waiting"


def test_a_crash_is_recorded_once_with_the_last_line_of_the_log(
    folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_dead(folder)
    folder.log.write_text("reading the cells\nhalf is done\n\n")
    cause = f"{NO_REASON}; the last line of its log: half is done"
    assert ending(folder) == ("crashed", cause)
    logged = []
    monkeypatch.setattr(LOGGER, "error", lambda text, *values: logged.append(text % values))
    assert [settle(folder), settle(folder)] == [True, False]
    assert logged == [f"{folder.path}: crashed: {cause}"]
    assert ending(folder) == ("crashed", cause)
    beat(folder, {})  # it goes on: the record of the crash is history
    assert status_of(folder).state == "running"


def test_what_lives_or_ended_is_not_settled(folder: JobFolder) -> None:
    folder.set_command("run")
    assert not settle(folder)
    leave_dead(folder)
    shift(folder.control, -STALE_AFTER_S - 1)
    with exclusive_lock(folder):
        assert is_held(folder)
        assert not settle(folder)
    record_ending(folder, "done")
    assert not settle(folder)
    assert status_of(folder) == JobStatus("done", said=status_of(folder).said)


HERE = identify_process(os.getpid())


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"pid": 1, "host": HERE["host"]},
        *({**HERE, "pid": pid} for pid in ("x", None, -1, 0, 1e30, 1 << 40)),
        {**HERE, "born": 1},
        {**HERE, "share": "half"},
        {**HERE, "begun_at": "now"},
    ],
    ids=range(11),
)
def test_what_is_no_heartbeat_is_ignored(folder: JobFolder, content: dict[str, object]) -> None:
    write_json(folder.heartbeat, content)
    assert status_of(folder) == JobStatus("crashed", NO_REASON)


@pytest.mark.parametrize(
    "content",
    [
        "[",
        "[]",
        "{}",
        '{"state": "done"}',
        '{"state": "gone", "cause": ""}',
        '{"state": "failed", "cause": null}',
    ],
)
def test_one_whose_ending_cannot_be_read_has_crashed_unless_a_process_is_on_it(
    folder: JobFolder, content: str
) -> None:
    folder.done.write_text(content)
    assert (status_of(folder).state, status_of(folder).is_live) == ("crashed", False)
    assert status_of(folder).cause.startswith(f"its files cannot be read: {folder.done}: ")
    assert not settle(folder)
    beat(folder, {})
    assert status_of(folder).state == "running"


@pytest.mark.parametrize("name", ["heartbeat", "done.json", "log.txt"])
def test_a_folder_in_the_place_of_a_file_is_none(folder: JobFolder, name: str) -> None:
    (folder.path / name).mkdir()
    assert status_of(folder).state == "crashed"


def test_only_a_live_one_is_stopped(folder: JobFolder) -> None:
    leave_dead(folder)
    with pytest.raises(StateError, match="not running"):
        stop(folder)
    beat(folder, {})
    stop(folder)
    assert folder.command() == "cancel"
