"""The log of a workspace: what a line holds, what it never holds, and several processes that write it."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.base import log
from core.base.config import Settings
from core.base.errors import InputError, NotFound, StoreBusy, StoreError
from core.runs.workspace import Workspace
from tests import commands

ROOT = Path(__file__).resolve().parents[2]
SECRET = "sk-0123456789/abc"
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (INFO|WARNING|ERROR) [\w-]+\[\d+\] .+")


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """Settings of an empty workspace; what a test configures ends with it."""
    yield Settings(workspace=tmp_path / "workspace", api_key=SECRET)
    log.close()


def raised(error: Exception) -> Exception:
    """The error with a traceback."""
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def events(settings: Settings) -> list[str]:
    """The lines of the log that begin an event."""
    lines = log.log_file(settings).read_text("utf-8").splitlines()
    assert all(LINE.fullmatch(line) or line.startswith("    ") for line in lines)
    return [line for line in lines if LINE.fullmatch(line)]


def test_nothing_is_written_before_there_is_an_event(settings: Settings) -> None:
    log.configure(settings, "score")
    assert not settings.data.exists()
    assert log.last_problems(settings) == []


def test_an_error_is_one_line_with_its_type_and_its_traceback_below(settings: Settings) -> None:
    log.configure(settings, "import")
    log.record_error("import train.csv", raised(InputError("line 3: got x,\nexpected a number")))
    [line] = events(settings)
    assert line.endswith("import train.csv: InputError: line 3: got x, expected a number")
    text = log.log_file(settings).read_text("utf-8")
    assert "    Traceback (most recent call last):" in text
    assert "raise error" in text


@pytest.mark.parametrize("line_break", ["\n", "\r", "\r\n", "\x85", "\u2028"])
def test_no_text_can_forge_an_event(settings: Settings, line_break: str) -> None:
    log.configure(settings, "app")
    log.record_error(
        "import a.csv",
        raised(InputError(f"bad{line_break}2026-01-01T00:00:00Z ERROR app[1] forged")),
    )
    assert len(events(settings)) == len(log.last_problems(settings)) == 1


def test_an_error_that_is_handed_on_is_recorded_once(settings: Settings) -> None:
    log.configure(settings, "app")
    error = raised(StoreBusy("held by process 7"))
    log.record_error("page /debates", error)
    log.record_error("failed", error)
    [line] = events(settings)
    assert " WARNING app[" in line


def test_the_last_problems_leave_out_what_went_well(settings: Settings) -> None:
    log.configure(settings, "app")
    for number in range(7):
        log.LOGGER.info("import %d", number)
        log.record_error(f"import {number}", InputError("no such file"))
    assert [line.split("] ")[1] for line in log.last_problems(settings, 2)] == [
        "import 5: InputError: no such file",
        "import 6: InputError: no such file",
    ]


def test_what_was_typed_wrongly_is_no_problem_of_the_installation(settings: Settings) -> None:
    log.configure(settings, "score")
    log.record_error("failed", NotFound("run 'x': not in this workspace"))
    log.record_error("failed", StoreError("the file is damaged"))
    [line] = log.last_problems(settings)
    assert "damaged" in line
    assert len(events(settings)) == 2  # the log has both


def test_the_last_problems_outlive_a_rotation(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "_MAX_BYTES", 500)
    log.configure(settings, "app")
    log.record_error("import a.csv", InputError("no such file"))
    while not (settings.data / "desk.log.1").exists():
        log.LOGGER.info("import b.csv")
    assert [line.split("] ")[1] for line in log.last_problems(settings)] == [
        "import a.csv: InputError: no such file"
    ]


@pytest.mark.parametrize("form", [SECRET, "sk-0123456789%2Fabc"])
def test_no_secret_is_written(
    settings: Settings, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log.configure(settings, "app", console=True)
    log.record_error(f"asking with {form}", raised(InputError(f"refused {form}")))
    written = log.log_file(settings).read_text("utf-8") + capsys.readouterr().err
    assert form not in written
    assert "refused [key]" in written


def test_standard_error_has_the_line_alone(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    log.configure(settings, "app", console=True)
    log.record_error("page /", raised(InputError("wrong")))
    [line] = capsys.readouterr().err.splitlines()
    assert line.endswith("page /: InputError: wrong")


def test_a_reader_writes_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(workspace=tmp_path / "workspace", read_only=True)
    log.configure(settings, "app", console=True)
    log.record_error("page /", raised(InputError("wrong")))
    log.close()
    assert "InputError: wrong" in capsys.readouterr().err
    assert not settings.workspace.exists()


def test_a_log_that_cannot_be_written_stops_nothing(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.workspace.parent.mkdir(exist_ok=True)
    settings.workspace.write_text("a file where the folder should be", "utf-8")
    log.configure(settings, "app")
    log.record_error("page /", InputError("wrong"))
    assert capsys.readouterr().err == ""


@pytest.mark.soak
def test_several_processes_write_whole_lines_and_rotate_together(settings: Settings) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom core.base import log\nfrom core.base.config import Settings\nlog._MAX_BYTES = 15_000\n"
        "log.configure(Settings(workspace=Path(sys.argv[1])), 'writer')\n"
        "for number in range(200):\n    log.LOGGER.info('%s %d %s', sys.argv[2], number, 'x' * 40)\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(settings.workspace), name], cwd=ROOT)
        for name in ("a", "b", "c")
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    files = sorted(settings.data.glob("desk.log*"))
    assert [file.name for file in files] == [
        "desk.log",
        "desk.log.1",
        "desk.log.2",
        "desk.log.3",
        "desk.log.lock",
    ]
    lines = [line for file in files[:-1] for line in file.read_text("utf-8").splitlines()]
    assert all(re.fullmatch(r"\S+Z INFO writer\[\d+\] [abc] \d+ x{40}", line) for line in lines)
    assert all(file.stat().st_size <= 15_000 for file in files)
    assert len(lines) == 600


@pytest.mark.soak
def test_a_command_records_its_error_and_prints_one_line(small_workspace: Workspace) -> None:
    settings = small_workspace.settings
    done = commands.core(settings.workspace, "runs rename nothing x")
    assert (done.status, len(done.err.splitlines())) == (1, 1)
    assert " ERROR runs[" in events(settings)[-1]
    assert "NotFound: run 'nothing'" in events(settings)[-1]
    assert commands.core(settings.workspace, "runs rename debate argued").status == 0
    assert "] rename debate (audit log: entry " in events(settings)[-1]
    assert [type(handler) for handler in log.LOGGER.handlers] == [logging.NullHandler]


@pytest.mark.soak
def test_a_command_of_a_reader_leaves_no_log(
    small_workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERTURBDESK_READ_ONLY", "1")
    assert commands.core(small_workspace, "runs delete debate").status == 1
    assert not log.log_file(small_workspace.settings).exists()


@pytest.mark.soak
def test_a_worker_records_its_start_and_its_end(small_workspace: Workspace) -> None:
    done = commands.core(small_workspace, "run evidence_rules --name rules")
    assert done.status == 0, done.err
    said = [line.split("] ", 1)[1] for line in events(small_workspace.settings)]
    assert said[0].startswith("run rules (audit log: entry ")
    assert [re.sub(r"run \w+", "run ID", line) for line in said[1:]] == [
        "run ID: a worker starts",
        "run ID: done",
    ]


def test_a_secret_that_is_broken_over_lines_is_not_written(settings: Settings) -> None:
    log.configure(settings, "app")
    log.record_error("failed", raised(InputError(f"said {SECRET[:7]}\n{SECRET[7:]}")))
    assert "InputError: said [key]" in events(settings)[0]
    assert SECRET[7:] not in log.log_file(settings).read_text("utf-8")
    assert log.without_secrets(f"<{SECRET}>") == "<[key]>"


def test_errors_that_somebody_can_cause_push_no_other_out_of_the_log(settings: Settings) -> None:
    log.configure(settings, "test")
    for _ in range(log.MOST_ALIKE + 50):
        log.record_error("alike", raised(ValueError("forged")))
    log.record_error("another", raised(KeyError("key")))
    said = [line for line in events(settings) if " alike" in line]
    assert len(said) == log.MOST_ALIKE
    assert "the last of this kind" in said[-1]
    assert " another: KeyError" in events(settings)[-1]
