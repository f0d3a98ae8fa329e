"""Every attack of tests/attacks.py in a process of its own, with its time and memory measured."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import commands, test_one_line
from tests.attacks import ATTACKS, Attack
from tests.test_hostile import contents, desk, place_of

__all__ = ["desk"]  # a fixture

ROOT = Path(__file__).resolve().parent.parent
MOST_S = 5.0
MOST_MB = 1000
PROGRESS = re.compile(r" *\d+% ")  # what takes longer, as on a busy machine, says how far it is
MOST_DATA = 1 << 30
LONGEST_S = 60


@pytest.fixture(scope="module")
def used() -> Iterator[list[tuple[float, float, str]]]:
    """Takes seconds, megabytes and the name of each attack; prints the largest at the end."""
    found = []
    yield found
    seconds, _, slowest = max(found)
    _, megabytes, largest = max(found, key=lambda one: one[1])
    print(
        f"\n{len(found)} attacks: at most {seconds:.1f} s ({slowest}) and {megabytes:.0f} MB ({largest})"
    )


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_it_is_one_line_in_little_time_and_memory(
    attack: Attack, desk: Path, tmp_path: Path, used: list[tuple[float, float, str]]
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    arguments = [argument.replace("WORKSPACE", str(desk)) for argument in attack.make(folder)]
    place = place_of(attack, desk, tmp_path)
    before = contents(place)
    said = tmp_path / "said"
    began = time.monotonic()
    with said.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "core", "--workspace", str(place), *arguments],
            cwd=ROOT,
            env={**os.environ, **attack.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=out,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MOST_DATA, MOST_DATA)),
        )
        status, usage = _wait(process.pid, began + LONGEST_S)
    seconds, megabytes = (
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss / 1024,
    )  # of its processors: others may be at work
    process.returncode = os.waitstatus_to_exitcode(status)
    used.append((seconds, megabytes, attack.name))
    lines = [
        line for line in said.read_text("utf-8", "replace").splitlines() if not PROGRESS.match(line)
    ]
    assert process.returncode == 1, lines
    assert len(lines) == 1 + attack.rejects
    assert attack.words in lines[0]
    assert "Traceback" not in lines[0]
    assert (seconds < MOST_S, megabytes < MOST_MB) == (True, True), (seconds, megabytes)
    assert contents(place) == before


def _wait(pid: int, deadline: float) -> tuple[int, resource.struct_rusage]:
    """The status of a process and what it used; kills it at the deadline."""
    while True:
        found, status, usage = os.wait4(pid, os.WNOHANG)
        if found:
            return status, usage
        if time.monotonic() > deadline:
            os.kill(pid, 9)
        time.sleep(0.01)


def test_wrong_usage_of_every_command_is_one_short_line(tmp_path: Path) -> None:
    for command in commands.every_command():
        test_one_line.assert_one_line(
            commands.core(tmp_path, *command.split(), f"--{test_one_line.LONG}"), 2
        )
