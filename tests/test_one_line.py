"""A command that fails says one short line on standard error, whatever it was given; so does every command with wrong usage."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import pytest

from core.runs import actions as runs
from tests import cases, commands

LONG = "x" * 100_000
ESCAPES = "a\nb\x1b[31m\u202e"


def assert_one_line(done: commands.Done, status: int, most: int = 600) -> str:
    assert done.status == status, done
    [line] = done.err.splitlines()
    assert line.startswith("error: ")
    assert line.isprintable()
    assert len(line) < most
    return line


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.mark.soak
def test_wrong_usage_is_one_line(place: Path) -> None:
    """Of some commands; soak/test_hostile.py asks all of them."""
    words = list(commands.every_command())
    assert len(words) > 50
    for command in words[::9]:
        line = assert_one_line(commands.core(place, *command.split(), f"--{LONG}"), 2)
        assert line.endswith(f"{command} --help")


@pytest.mark.few(1)
@pytest.mark.parametrize("given", [LONG, ESCAPES])
def test_what_is_quoted_of_an_argument_is_short_and_on_the_line(place: Path, given: str) -> None:
    assert_one_line(commands.core(place, given), 2)
    assert_one_line(commands.core(place, "knn", "--power", given), 2)
    for command in (
        ("score", given),
        ("run", given),
        ("import", given),
        ("ask", given, "A"),
        ("report", "build", given, "--out", "a"),
    ):
        assert_one_line(commands.core(place, *command), 1)


def test_the_middle_is_left_out_and_what_is_expected_stays(place: Path) -> None:
    line = assert_one_line(commands.core(place, "fetch", LONG), 1)
    assert "expected one of" in line


@pytest.mark.soak
def test_what_is_progress_is_for_a_terminal(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "train.csv").write_bytes(cases.TRAIN)
    assert commands.core(tmp_path / "a", "import", str(files)).err == ""
    said = commands.core(tmp_path / "b", "--progress", "import", str(files))
    assert said.status == 0
    assert [line.split()[-1] for line in said.err.splitlines()] == [
        "train.csv",
        "train.csv",
    ]  # read, then written


def test_what_libraries_say_is_not_on_standard_error(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_, **__):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("a library warns", stacklevel=1)
        logging.getLogger("a.library").error("a library logs")
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(runs, "rename", fail)
    assert "planted" in assert_one_line(commands.core(place, "runs rename a b"), 1)


@pytest.mark.soak
def test_help_is_no_error(place: Path) -> None:
    assert commands.core(place, "--help").status == 0
    assert commands.core(place, "runs", "--help").err == ""
