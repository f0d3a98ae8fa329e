"""A run of 300 rows on a Ray cluster, one of whose processes is killed, and whose driver is killed and resumed.

tests/runs/test_ray.py has what a run on a cluster does otherwise.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from core.methods.base import method_named
from core.runs import run_control
from core.runs.jobs.folder import log_tail
from core.runs.journal import read_spending
from core.runs.spec import ExecutionSettings
from core.runs.workspace import Workspace
from core.store.runs import Run
from soak.conftest import Record
from soak.test_servers import Server, watch
from tests.fakes.scripted import MODEL, request_counts
from tests.runs.cases import assert_whole, end_worker, fast, status, until, wish, workspace_with
from tests.runs.ray_clusters import Nodes, cluster
from tests.runs.test_killed import journalled
from tests.runs.test_ray import assert_equal

ROWS = 300
AT_ONCE = 16
ANSWER_S = 0.2
ENDS_S = 240.0  # two helpers of each raylet look for its head for a minute or two before they end


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with cluster(2) as found:
        yield found


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with closing(Server(at_once=4 * AT_ONCE, answer_s=ANSWER_S)) as found:
        yield found


def start(workspace: Workspace, how: ExecutionSettings) -> Run:
    spec = wish(workspace, method_named("prompt_only"), model=MODEL, options={"seeds": "42"})
    return run_control.start(workspace, spec, "r", how)


def kill_a_process() -> None:
    """Kill one of the processes that predict rows, as a lack of memory does."""
    names = [
        process
        for process in psutil.process_iter(["cmdline"])
        if _predicts(process.info["cmdline"])
    ]
    names[0].kill()


def _predicts(command: list[str] | None) -> bool:
    return bool(command) and "ray::predict_batch" in command[0]


def test_300_rows_survive_a_process_and_the_driver(
    nodes: Nodes, server: Server, tmp_path: Path, record: Record
) -> None:
    settings = fast(server.url, timeout_s=60.0, rows_in_flight=AT_ONCE, concurrency=AT_ONCE)
    there = fast(
        server.url,
        timeout_s=60.0,
        rows_in_flight=AT_ONCE,
        concurrency=AT_ONCE,
        backend="ray",
        ray_address=nodes.address,
    )
    whole, workspace = (
        workspace_with(tmp_path / "here", ROWS),
        workspace_with(tmp_path / "there", ROWS),
    )
    run = start(whole, settings)
    watch(whole, run, ROWS + 1, [])
    sent_before = request_counts(server.url)["answers"]
    run = start(workspace, there)
    try:
        watch(workspace, run, ROWS // 5, [])
        kill_a_process()
        now = watch(workspace, run, ROWS // 2, [])
        assert now.pid is not None
        os.kill(now.pid, signal.SIGKILL)
        before = journalled(workspace, run)
        until(lambda: status(workspace, run).state == "crashed", "the crash to be seen")
        run_control.resume(workspace, run.id)
        watch(workspace, run, ROWS + 1, [])
    finally:
        end_worker(workspace, run)
    run_control.settle(workspace, run.id)
    assert_whole(workspace, run, ROWS)
    assert_equal(workspace, whole)
    assert journalled(workspace, run)[: len(before)] == before
    log = "\n".join(log_tail(workspace.run_folder(run.id), 1_000))
    assert "ray: a task died" in log
    asked_twice = request_counts(server.url)["answers"] - sent_before - ROWS
    told = read_spending(workspace.run_folder(run.id).spending)
    record(asked_twice=asked_twice, answers_counted=told.answers if told else 0)
    assert 0 <= asked_twice <= 4 * AT_ONCE  # what was on its way, twice


def test_a_cluster_that_is_started_here_listens_on_loopback_only_and_ends_with_the_worker(
    server: Server, tmp_path: Path, record: Record
) -> None:
    workspace = workspace_with(tmp_path, ROWS)
    run = start(
        workspace, fast(server.url, timeout_s=60.0, rows_in_flight=2, concurrency=2, backend="ray")
    )
    try:
        pid = watch(workspace, run, 4, []).pid
        assert pid is not None
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        listening = {
            listener.laddr.ip
            for process in family
            for listener in process.net_connections()
            if not listener.raddr
        }
        assert len(family) > 3
        assert listening <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
        killed_at = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        while any(map(_lives, family)):
            assert time.monotonic() - killed_at < ENDS_S
            time.sleep(0.5)
    finally:
        end_worker(workspace, run)
    record(processes=len(family), ended_s=f"{time.monotonic() - killed_at:.0f}")


def _lives(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
