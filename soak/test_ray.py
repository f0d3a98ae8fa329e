"""A Ray cluster at full strength: 10,000 rows on three nodes, of which one is killed and another joins, with a driver that is
killed; and what the cluster costs beside the local backend. tests/engine/test_ray.py has the short form."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.actions import run_control
from core.actions.workspace import Workspace
from core.engine.journal import read_progress, read_spending
from core.engine.run_state import Status
from core.engine.spec import ExecutionSettings
from core.jobs.state import STALE_AFTER_S
from core.methods.base import method_named
from core.store.runs import Run
from soak.conftest import Record
from soak.test_servers import Server, watch
from tests.engine.cases import end_worker, fast, status, until, wish, workspace_with
from tests.engine.ray_clusters import Nodes, cluster
from tests.engine.test_ray import assert_equal, assert_whole, journalled
from tests.fakes.scripted import MODEL, request_counts

ROWS = 10_000
AT_ONCE = 16
ANSWER_S = 0.2
SLOWER = 1.3  # at most, than the local backend
MOST_MB = 600
GROWTH_MB = 60
ENDS_S = 240.0  # two helpers of each raylet look for its head for a minute or two before they end


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with cluster(3) as found:
        yield found


def settings(server: Server, address: str = "", **more: object) -> ExecutionSettings:
    there = {"backend": "ray", "ray_address": address} if address else {}
    return fast(server.url, timeout_s=60.0, rows_in_flight=AT_ONCE, concurrency=AT_ONCE, **there, **more)


def start(workspace: Workspace, how: ExecutionSettings) -> Run:
    spec = wish(workspace, method_named("prompt_only"), model=MODEL, options={"seeds": "42"})
    return run_control.start(workspace, spec, "r", how)


def processor_s(pid: int) -> float:
    """Processor seconds that a process has taken so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def finish(workspace: Workspace, run: Run, memory: list[float]) -> tuple[Status, float]:
    """Watches a run to its end; returns its status and the processor seconds of its worker shortly before."""
    pid, taken_s = status(workspace, run).pid, 0.0
    for share in range(1, 21):
        watch(workspace, run, ROWS * share // 20 - (ROWS // 200 if share == 20 else 0), memory)
        if pid is not None and Path(f"/proc/{pid}").exists():
            taken_s = processor_s(pid)
    return watch(workspace, run, ROWS + 1, memory), taken_s


@dataclass(frozen=True)
class Undisturbed:
    """A run that nothing disturbed. seconds: from the start to the end. driver_s: processor seconds of its worker."""

    workspace: Workspace
    seconds: float
    driver_s: float
    driver_mb: float


def undisturbed(folder: Path, server: Server, address: str = "") -> Undisturbed:
    """A run from its start to its end."""
    workspace, memory = workspace_with(folder, ROWS), list[float]()
    begun = time.monotonic()
    run = start(workspace, settings(server, address))
    try:
        now, driver_s = finish(workspace, run, memory)
        seconds = time.monotonic() - begun
    finally:
        end_worker(workspace, run)
    run_control.settle(workspace, run.id)
    assert (now.state, now.counts.done) == ("done", ROWS), run_control.log_tail(workspace, run.id)
    return Undisturbed(workspace, seconds, driver_s, max(memory))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with closing(Server(at_once=4 * AT_ONCE, answer_s=ANSWER_S)) as found:
        yield found


@pytest.fixture(scope="module")
def local(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return undisturbed(tmp_path_factory.mktemp("local"), server)


def test_a_cluster_takes_at_most_a_third_longer_than_the_worker_alone(
    nodes: Nodes, server: Server, local: Undisturbed, tmp_path: Path, record: Record
) -> None:
    ray = undisturbed(tmp_path, server, nodes.address)
    record(
        **{f"{name}_s": f"{one.seconds:.0f}" for name, one in (("local", local), ("ray", ray))},
        **{f"{name}_driver_cpu_s": f"{one.driver_s:.0f}" for name, one in (("local", local), ("ray", ray))},
        **{f"{name}_driver_mb": f"{one.driver_mb:.0f}" for name, one in (("local", local), ("ray", ray))},
        ratio=f"{ray.seconds / local.seconds:.2f}",
    )
    assert_equal(ray.workspace, local.workspace)
    assert ray.seconds <= SLOWER * local.seconds


def test_10_000_rows_survive_nodes_and_the_driver(
    nodes: Nodes, server: Server, local: Undisturbed, tmp_path: Path, record: Record
) -> None:
    workspace, memory = workspace_with(tmp_path, ROWS), list[float]()
    sent_before = request_counts(server.url)["answers"]
    run = start(workspace, settings(server, nodes.address))
    try:
        watch(workspace, run, ROWS // 3, memory)
        nodes.kill()
        watch(workspace, run, ROWS // 2, memory)
        nodes.add()
        now = watch(workspace, run, 2 * ROWS // 3, memory)
        assert now.pid is not None
        os.kill(now.pid, signal.SIGKILL)
        before = journalled(workspace, run)
        until(lambda: status(workspace, run).state == "crashed", "the crash to be seen")
        time.sleep(STALE_AFTER_S / 4)
        sent = request_counts(server.url)["answers"]
        run_control.resume(workspace, run.id)
        last = watch(workspace, run, ROWS + 1, memory)
    finally:
        end_worker(workspace, run)
    answers = request_counts(server.url)["answers"]
    run_control.settle(workspace, run.id)
    told = read_spending(workspace.run_folder(run.id).spending)
    assert told is not None
    quarter = len(memory) // 4
    growth_mb = max(memory[3 * quarter :]) - max(memory[quarter : 2 * quarter])
    record(
        given_back=sum(node.given_back for node in now.nodes),
        rows={node.address: (node.state, node.done) for node in (*now.nodes, *last.nodes)},
        asked_twice=answers - sent_before - ROWS,
        unanswered=told.unanswered,
        driver_mb=f"{max(memory):.0f}",
        growth_mb=f"{growth_mb:.0f}",
    )
    assert_whole(workspace, run, ROWS)
    assert_equal(workspace, local.workspace)
    assert journalled(workspace, run)[: len(before)] == before
    assert any(node.state == "gone" and node.done for node in now.nodes)
    assert answers - sent <= ROWS - len(before)
    assert 0 <= answers - sent_before - ROWS <= told.unanswered <= 2 * AT_ONCE
    assert 0 < max(memory) < MOST_MB
    assert growth_mb < GROWTH_MB


def test_a_cluster_that_is_started_here_listens_on_loopback_only_and_ends_with_the_worker(
    server: Server, tmp_path: Path, record: Record
) -> None:
    workspace = workspace_with(tmp_path, ROWS)
    run = start(workspace, fast(server.url, timeout_s=60.0, backend="ray"))
    try:
        pid = watch(workspace, run, 100, []).pid
        assert pid is not None
        family = [pid, *_descendants(pid)]
        listening = [address for address in _listening(family) if not address.startswith(("127.", "[::1]", "[::ffff:127."))]
        assert len(family) > 3
        assert listening == []
        killed_at = time.monotonic()
        os.kill(pid, signal.SIGKILL)
        while living := [process for process in family if _lives(process)]:
            assert time.monotonic() - killed_at < ENDS_S, living
            time.sleep(0.5)
        ended_s = time.monotonic() - killed_at
    finally:
        end_worker(workspace, run)
    record(processes=len(family), ended_s=f"{ended_s:.0f}")
    assert read_progress(workspace.run_folder(run.id).rows).repeated == 0


def _descendants(pid: int) -> list[int]:
    import psutil

    return [process.pid for process in psutil.Process(pid).children(recursive=True)]


def _lives(pid: int) -> bool:
    import psutil

    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def _listening(pids: list[int]) -> list[str]:
    """Addresses at which these processes listen."""
    lines = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split()[3] for line in lines if any(f"pid={pid}," in line for pid in pids)]
