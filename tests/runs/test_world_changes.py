"""What changes under a run while it works: its server is started anew, or the machine's clock is set."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from core.base.types import Pair, RowResult
from core.features.reading.overview.runs_table import time_text
from core.methods.base import Context
from core.runs import run_control
from core.runs.journal import read_progress
from core.runs.workspace import Workspace
from core.store import runs
from core.store.runs import Run
from tests.fakes.http_server import serve_in_thread
from tests.fakes.scripted import MODEL, Script, ScriptedModel
from tests.runs.cases import fast, status, stored_rows, wish, workspace_with
from tests.runs.methods import Asking, here

ROWS = 30
DAY_S = 86_400.0


class Server:
    """A model server that can be ended and started anew at its address."""

    def __init__(self) -> None:
        self.tokens = 0
        self._serving: AbstractContextManager[str] | None = None
        self.url = ""
        self.start()

    def start(self) -> None:
        port, self._model = urlsplit(self.url).port or 0, ScriptedModel(Script(delay_s=0.02))
        self._serving = serve_in_thread(self._model.answer, MODEL, port)
        self.url = f"{self._serving.__enter__()}/v1"

    def end(self) -> None:
        if self._serving is not None:
            self._serving.__exit__(None, None, None)
            self.tokens += self._model.counts["tokens"]  # with the answers given meanwhile
            self._serving = None


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.end()


class Changing(Asking):
    """Does something once, in a thread of its own, when so many rows were begun."""

    def __init__(self, at_row: int, change: object) -> None:
        super().__init__()
        self.n_rows, self.at_row, self.change = 0, at_row, change

    async def predict_row(self, pair: Pair, context: Context) -> RowResult:
        self.n_rows += 1
        if self.n_rows == self.at_row:
            threading.Thread(target=self.change).start()  # type: ignore[arg-type]
        return await super().predict_row(pair, context)


def run_of(workspace: Workspace, method: Asking, url: str, **how: object) -> Run:
    spec = wish(workspace, method, model="scripted")
    return run_control.start(
        workspace, spec, "r", fast(url, rows_in_flight=4, **how), begin=here(method)
    )


def assert_whole(workspace: Workspace, run: Run) -> None:
    """Every row is there once, and right."""
    assert (run.status, run.done, run.failed) == ("done", ROWS, 0)
    progress = read_progress(workspace.run_folder(run.id).rows)
    assert (len(progress.finished), progress.repeated) == (ROWS, 0)
    assert len(stored_rows(workspace, run.id)) == ROWS


def test_a_server_that_is_started_anew_is_asked_on_and_its_tokens_count_once(
    tmp_path: Path, server: Server
) -> None:
    def restart():
        server.end()
        time.sleep(0.3)
        server.start()

    workspace = workspace_with(tmp_path, ROWS)
    run = run_of(workspace, Changing(10, restart), server.url, retries=30, longest_backoff_s=0.2)
    assert_whole(workspace, run)
    server.end()
    assert run.spent_tokens == run.tokens == server.tokens


def test_one_that_is_away_for_longer_stops_the_run_which_goes_on_when_it_is_back(
    tmp_path: Path, server: Server
) -> None:
    workspace = workspace_with(tmp_path, ROWS)
    run = run_of(workspace, Changing(10, server.end), server.url, retries=1)
    first = status(workspace, run)
    assert first.counts.done + first.counts.failed < ROWS
    assert first.state == "stopped"
    server.start()
    method = Asking()
    run = run_control.resume(workspace, run.id, begin=here(method))
    if run.failed:
        run = run_control.retry(workspace, run.id, begin=here(method))
    assert_whole(workspace, run)
    server.end()
    assert run.spent_tokens == server.tokens


@pytest.mark.parametrize("jump_s", [DAY_S, -DAY_S])
def test_a_clock_that_is_set_changes_no_row_and_no_cost(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, jump_s: float
) -> None:
    now, states = time.time, set[str]()
    workspace = workspace_with(tmp_path, ROWS)

    def jump():
        monkeypatch.setattr(time, "time", lambda: now() + jump_s)
        states.update(status(workspace, run).state for run in runs_under_way(workspace))

    run = run_of(workspace, Changing(10, jump), server.url)
    assert_whole(workspace, run)
    assert states == {"running"}
    assert status(workspace, run).state == "done"
    server.end()
    assert run.spent_tokens == run.tokens == server.tokens


def runs_under_way(workspace: Workspace) -> list[Run]:
    with workspace.store.read() as db:
        return runs.list_all(db)


def test_a_run_that_ends_before_it_began_says_no_time(tmp_path: Path, server: Server) -> None:
    run = run_of(workspace_with(tmp_path, ROWS), Asking(), server.url)
    assert time_text(run) is not None
    assert time_text(replace(run, finished_at=datetime.now() - timedelta(days=1))) is None
