"""Many model servers at full strength: 10,000 rows over three servers, one of which dies and comes back."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from core.base.config import REPOSITORY
from core.base.types import LIVE_STATES
from core.methods.base import method_named
from core.runs import run_control
from core.runs.jobs.folder import log_tail
from core.runs.journal import read_progress
from core.runs.run_state import Status
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run
from soak.conftest import Record
from tests.fakes.scripted import MODEL, request_counts
from tests.features.predicting.test_serve import free_port
from tests.runs.cases import end_worker, fast, status, wish, workspace_with

ROWS = 10_000
N_SERVERS = 3
ANSWER_S = 0.1
TAKEN_OVER_S = 5.0
MOST_MB = 600
GROWTH_MB = 60  # ids and costs of 10,000 rows take some 20
SILENCE_S = 300.0  # without a finished row


class Server:
    """A scripted server in a process of its own, which can be killed and started again on its port."""

    def __init__(self, at_once: int, answer_s: float = ANSWER_S) -> None:
        self.port, self.at_once, self.answer_s = free_port(), at_once, answer_s
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self.start()

    def start(self) -> None:
        """Starts the server and waits until it answers."""
        arguments = (
            "--port",
            str(self.port),
            "--delay-ms",
            f"{1000 * self.answer_s:g}",
            "--at-once",
            str(self.at_once),
        )
        command = (sys.executable, "-m", "tests.fakes.scripted", *arguments)
        self.process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL)
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{self.url}/models", timeout=5).close()
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"{self.url} does not answer")

    def kill(self) -> None:
        """Kills the server as a machine that loses its power does."""
        self.process.kill()
        self.process.wait()

    close = kill


@contextmanager
def servers(number: int, at_once: int) -> Iterator[list[Server]]:
    """So many servers, killed when the block ends."""
    started = [Server(at_once) for _ in range(number)]
    try:
        yield started
    finally:
        for server in started:
            server.kill()


@contextmanager
def run_over(workspace: Workspace, chosen: list[Server], rows: int, **how: Any) -> Iterator[Run]:
    """A run of one call a row over these servers, by a worker process, which is ended if the block fails."""
    settings = fast(
        ",".join(s.url for s in chosen),
        timeout_s=60.0,
        retries=5,
        backoff_s=0.2,
        cached=False,
        **how,
    )
    spec = wish(
        workspace,
        method_named("prompt_only"),
        f"split=test; sample={rows},seed=0",
        model=MODEL,
        options={"seeds": "42"},
    )
    run = run_control.start(workspace, spec, f"{rows} rows over {len(chosen)}", settings)
    try:
        yield run
    finally:
        end_worker(workspace, run)


def watch(workspace: Workspace, run: Run, until_rows: int, memory: list[float]) -> Status:
    """Waits until so many rows are finished or no worker is on the run; adds the worker's memory in MB, twice a second."""
    rows, since = -1, time.monotonic()
    while True:
        now = status(workspace, run)
        finished = now.counts.done + now.counts.failed
        if now.state not in LIVE_STATES or finished >= until_rows:
            return now
        if now.pid is not None:
            memory.append(memory_mb(now.pid))
        if finished != rows:
            rows, since = finished, time.monotonic()
        assert time.monotonic() - since < SILENCE_S, (
            f"{rows} rows; {log_tail(workspace.run_folder(run.id))}"
        )
        time.sleep(0.5)


def memory_mb(pid: int) -> float:
    """What a process holds in memory now, in MB."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6
    except (OSError, IndexError):
        return 0.0


def seconds_until_taken_over(workspace: Workspace, run: Run, dead: Server) -> float:
    """Seconds from now until the worker says that the dead server rests with no request, and the others have all of them."""
    begun = time.monotonic()
    while True:
        others = [s for s in status(workspace, run).servers if s.address != dead.url]
        mine = next(s for s in status(workspace, run).servers if s.address == dead.url)
        if (
            mine.state != "ready"
            and mine.in_flight == 0
            and all(s.state == "ready" and s.in_flight > 0 for s in others)
        ):
            return time.monotonic() - begun
        assert time.monotonic() - begun < SILENCE_S
        time.sleep(0.05)


def test_10_000_rows_survive_a_server_that_dies_and_comes_back(
    tmp_path: Path, record: Record
) -> None:
    workspace = workspace_with(tmp_path, ROWS)
    memory = []
    with (
        servers(N_SERVERS, at_once=32) as all_of_them,
        run_over(workspace, all_of_them, ROWS, concurrency=48, rows_in_flight=48) as run,
    ):
        dying = all_of_them[1]
        begun = time.monotonic()
        watch(workspace, run, ROWS // 3, memory)
        dying.kill()
        taken_over_s = seconds_until_taken_over(workspace, run, dying)
        watch(
            workspace, run, ROWS // 2, memory
        )  # each of its rests is twice as long: after half the rows it is back in time
        dying.start()
        now = watch(workspace, run, ROWS + 1, memory)
        answered_again = request_counts(dying.url).get("answers", 0)
    seconds = time.monotonic() - begun
    run_control.settle(workspace, run.id)
    with workspace.store.read() as db:
        stored = runs.find(db, run.id)
        counted = db.execute(
            "SELECT count(*), count(DISTINCT pair_id) FROM prediction WHERE run = ?", [run.id]
        ).fetchone()
    progress = read_progress(workspace.run_folder(run.id).rows)
    quarter = len(memory) // 4
    growth_mb = float(np.mean(memory[3 * quarter :]) - np.mean(memory[quarter : 2 * quarter]))
    record(
        rows_per_s=f"{ROWS / seconds:.0f}",
        taken_over_s=f"{taken_over_s:.1f}",
        answers={s.address: s.done for s in now.servers},
        answered_again=answered_again,
        driver_mb=f"{max(memory):.0f}",
        growth_mb=f"{growth_mb:.0f}",
    )
    assert (now.state, now.counts.done, now.counts.failed) == ("done", ROWS, 0)
    assert (len(progress.finished), progress.repeated) == (ROWS, 0)
    assert (stored.done, stored.failed, counted) == (ROWS, 0, (ROWS, ROWS))
    assert taken_over_s < TAKEN_OVER_S
    assert answered_again > ROWS // 20
    assert 0 < max(memory) < MOST_MB
    assert growth_mb < GROWTH_MB
