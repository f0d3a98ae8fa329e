"""Twenty rows asked again with a card that matters and one that does not, and a command that is killed on the way;
tests/actions/test_ask_again.py has one row."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from core.actions import ask_again, launch
from core.actions.ask_again import AgainRequest
from core.actions.workspace import Workspace, open_workspace
from core.config import REPOSITORY, Settings
from core.engine.request import RunRequest
from core.experiments.asked_again import AskedAgain, report_again
from core.store import predictions, runs
from soak.conftest import Record
from tests import worlds
from tests.fakes import scripted as scripted_server
from tests.fakes.scripted import Script
from tests.moving_evidence import MOVES, TOOLS, answer_moved_by

ROWS, LEAST, MOST_FALSE = 20, 18, 4
INERT = "base_rates"
REPEATS, BEFORE_THE_KILL = 5, 6


def judged(folder: Path, url: str, rows: int) -> tuple[Workspace, list[str]]:
    """A workspace with a debate "judged" on so many rows, and their ids."""
    workspace = open_workspace(Settings(workspace=folder, author="tester"))
    worlds.furnish(workspace)
    options = {"rounds": 0, "tools": ",".join(TOOLS)}
    asked = RunRequest("debate", None, options, f"split=train;sample={rows}", "judged", "scripted", endpoint=url)
    run = launch.start(workspace, asked)
    with workspace.store.read() as db:
        return workspace, predictions.frame(db, run.id)["pair_id"].tolist()


def ask(workspace: Workspace, row: str, tool: str, url: str) -> AskedAgain:
    plan = ask_again.plan_again(workspace, AgainRequest("judged", row, (tool,), {}, judge_only=True, endpoint=url))
    made = ask_again.ask_again(workspace, plan)
    with workspace.store.read() as db:
        return report_again(db, row, *made)


def test_what_matters_is_outside_and_what_does_not_is_inside(tmp_path: Path, record: Record) -> None:
    with scripted_server.serving(Script(seed=0, answer=answer_moved_by(MOVES, effect=15, noise=5))) as url:
        workspace, rows = judged(tmp_path, url, ROWS)
        outside = {
            tool: sum(any(each.is_outside for each in ask(workspace, row, tool, url).answers) for row in rows)
            for tool in (MOVES, INERT)
        }
    record(rows=ROWS, outside_that_matter=outside[MOVES], outside_that_do_not=outside[INERT])
    assert outside[MOVES] >= LEAST
    assert outside[INERT] <= MOST_FALSE  # one of twenty is expected, by both numbers together


def command(workspace: Workspace, row: str, url: str) -> Sequence[str]:
    place = ("--workspace", str(workspace.settings.workspace))
    asked = ("again", "judged", row, "--judge-only", "--without", MOVES, "--concurrency", "1", "--endpoint", url, "--json")
    return (sys.executable, "-m", "core", *place, *asked)


def finish(workspace: Workspace, row: str, url: str) -> dict[str, Any]:
    done = subprocess.run(command(workspace, row, url), cwd=REPOSITORY, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_killed_command_goes_on(tmp_path: Path, record: Record) -> None:
    """Killed in the first of both runs, the same command ends as an undisturbed one does, and asks no answered call again."""
    script = Script(seed=0, answer=answer_moved_by(MOVES, effect=15, noise=5), delay_s=0.2)
    with scripted_server.serving(script) as url:
        undisturbed, [row, *_] = judged(tmp_path / "a", url, 2)
        expected = finish(undisturbed, row, url)
        workspace, _ = judged(tmp_path / "b", url, 2)

        def asked() -> int:
            return int(scripted_server.request_counts(url)["/v1/chat/completions"])

        before = asked()
        process = subprocess.Popen(command(workspace, row, url), cwd=REPOSITORY, start_new_session=True)
        while asked() < before + BEFORE_THE_KILL:
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        found = finish(workspace, row, url)
        requests = asked() - before
    assert found["answers"] == expected["answers"]
    record(requests=requests, needed=2 * 2 * REPEATS)
    assert 2 * 2 * REPEATS <= requests <= 2 * 2 * REPEATS + 1  # the one in flight is lost
    with workspace.store.read() as db:
        made = [run for run in runs.list_all(db) if run.method == "debate_again"]
    assert [(run.status, run.done) for run in made] == [("done", 1)] * 2
