"""A run over several model servers: one dies and comes back, one differs, one joins, and all are gone for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.llm import server_pool
from core.runs import run_control
from core.runs.jobs.folder import log_tail
from core.runs.workspace import Workspace
from core.store.runs import Run
from tests import commands
from tests.fakes.scripted import MODEL, Script, request_counts, serving
from tests.features.predicting.test_serve import free_port
from tests.runs.cases import assert_whole, fast, finished, status, until, wish, workspace_with
from tests.runs.methods import Asking, here

ASKING = Asking()
ROWS = 200


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools that look after their servers more often than runs do."""
    for name, seconds in {
        "REST_S": 0.05,
        "LONGEST_REST_S": 0.2,
        "CHECK_S": 2.0,
        "WATCH_S": 0.02,
    }.items():
        monkeypatch.setattr(server_pool, name, seconds)


@contextmanager
def working(workspace: Workspace, servers: str, name: str = "r", **how: Any) -> Iterator[Run]:
    """A run of two calls a row that is worked on in a thread; the block ends with the run."""
    threads = []

    def begin(workspace: Workspace, run: str) -> None:
        threads.append(threading.Thread(target=lambda: here(ASKING)(workspace, run), name=run))
        threads[0].start()

    settings = fast(
        servers,
        **{"timeout_s": 10.0, "rows_in_flight": 12, "concurrency": 12, "cached": False, **how},
    )
    run = run_control.start(
        workspace, wish(workspace, ASKING, model=MODEL), name, settings, begin=begin
    )
    try:
        yield run
    finally:
        threads[0].join(60)


def wait_for(workspace: Workspace, run: Run, rows: int) -> None:
    until(
        lambda: finished(workspace, run) >= rows,
        f"{rows} rows; {log_tail(workspace.run_folder(run.id))}",
    )


def log_of(workspace: Workspace, run: Run) -> str:
    return "\n".join(log_tail(workspace.run_folder(run.id), 1_000))


@contextmanager
def _stoppable(script: Script, port: int) -> Iterator[Any]:
    """A scripted server on this port; gives the function that ends it at once."""
    with ExitStack() as stack:
        stack.enter_context(serving(script, port))
        yield stack.close


@pytest.mark.soak
def test_the_identity_and_the_cache_do_not_depend_on_the_servers(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 12)
    with serving() as one, serving() as two:
        with working(workspace, f"{one},{two}", cached=True) as run:
            pass
        assert run.id == wish(workspace, ASKING, model=MODEL).key
        asked = [request_counts(url)["/v1/chat/completions"] for url in (one, two)]
    now = assert_whole(workspace, run, 12)
    assert sum(asked) == 24 + 2  # the checks ask one each
    assert now.counts.spent == now.counts.cost  # what the checks cost is no part of the run


@pytest.mark.soak
def test_servers_join_and_leave_by_the_file(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, ROWS)
    file = tmp_path / "servers.txt"
    script = Script(delay_s=0.02)
    with serving(script) as one, serving(script) as two:
        file.write_text(f"# ours\n{one}\n")
        with working(workspace, str(file)) as run:
            wait_for(workspace, run, 20)
            file.write_text(f"{one}\n{two}  # joins\n")
            until(
                lambda: request_counts(two).get("answers", 0) > 20,
                "answers of the server that joined",
            )
            file.write_text("nonsense\n")
            until(lambda: "line 1: is no address" in log_of(workspace, run), "the log to say so")
            file.write_text(f"{two}\n")
            until(
                lambda: f"server {one}: leaves" in log_of(workspace, run),
                "the first server to leave",
            )
            left_at = request_counts(one)["/v1/chat/completions"]
        assert request_counts(one)["/v1/chat/completions"] <= left_at + 1  # one that was on its way
    now = assert_whole(workspace, run, ROWS)
    assert [s.address for s in now.servers] == [two]
    assert "nonsense" not in log_of(workspace, run)


@pytest.mark.soak
def test_a_run_waits_while_every_server_is_gone_and_goes_on_when_one_is_back(
    tmp_path: Path,
) -> None:
    workspace = workspace_with(tmp_path, 60)
    script, ports = Script(delay_s=0.02), (free_port(), free_port())
    urls = [f"http://127.0.0.1:{port}/v1" for port in ports]
    with ExitStack() as stack:
        stops = [stack.enter_context(_stoppable(script, port)) for port in ports]
        with working(workspace, ",".join(urls), rows_in_flight=3, concurrency=3) as run:
            wait_for(workspace, run, 10)
            for stop in stops:
                stop()
            until(
                lambda: "waiting for a server, none of 2" in status(workspace, run).notice,
                "the run to say that it waits",
            )
            assert status(workspace, run).state == "running"
            log = commands.core_json(tmp_path, "jobs log r")
            assert log["notice"].startswith("waiting for a server, none of 2")
            assert "waiting for a server, none of 2" in commands.core(tmp_path, "jobs log r").out
            at = finished(workspace, run)
            time.sleep(0.3)
            assert finished(workspace, run) == at < 60
            stack.enter_context(_stoppable(script, ports[1]))
    assert_whole(workspace, run, 60)
    assert "goes on after" in log_of(workspace, run)
    assert status(workspace, run).notice == ""


def test_a_run_waits_for_so_long_and_can_then_be_resumed(tmp_path: Path) -> None:
    workspace = workspace_with(tmp_path, 20)
    nobody = [f"http://127.0.0.1:{port}/v1" for port in {free_port() for _ in range(9)}][:2]
    with working(workspace, ",".join(nobody), longest_outage_s=0.1) as run:
        pass
    now = status(workspace, run)
    assert (now.state, now.counts.done, now.counts.failed) == ("stopped", 0, 0)
    assert now.cause.startswith(
        "no server could be used for 0 s: waiting for a server, none of 2 can be used: "
    )
    with serving() as url:
        settings = fast(f"{url},{nobody[0]}", timeout_s=10.0)
        run_control.resume(workspace, run.id, settings=settings, begin=here(ASKING))
    assert_whole(workspace, run, 20)
