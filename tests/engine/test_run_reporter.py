"""What a worker tells of itself: its log, its heartbeat, and the store's copy of its journal."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.actions import run_control
from core.actions.workspace import Workspace
from core.engine import run_reporter
from core.engine.journal import Journal, RunFolder
from core.engine.run_reporter import RunReporter
from core.engine.run_state import State, last_heartbeat
from core.errors import NotFound, StoreBusy
from core.store import Store, runs
from core.store.runs import Run
from core.types import Failed
from tests.engine.cases import fast, wish, workspace_with
from tests.engine.methods import Counting


@pytest.fixture
def begun(tmp_path: Path) -> tuple[Workspace, Run]:
    """A run of three rows that nobody works on."""
    workspace = workspace_with(tmp_path, 3)
    return workspace, run_control.start(workspace, wish(workspace, Counting()), "r", fast(), begin=lambda *_: None)


def reporter_of(workspace: Workspace, journal: Journal, run: Run) -> RunReporter:
    return RunReporter(
        workspace.run_folder(run.id),
        workspace.store,
        journal.progress,
        run.total,
        lambda text: text.replace("sk-", "…"),
    )


def test_a_state_is_said_once_and_nothing_secret_ever(begun: tuple[Workspace, Run]) -> None:
    workspace, run = begun
    folder = workspace.run_folder(run.id)
    with Journal(folder) as journal:
        reporter = reporter_of(workspace, journal, run)
        reporter.enter_state("running")
        assert last_heartbeat(folder) is None  # as it began
        reporter.enter_state("paused")
        reporter.enter_state("paused")
        reporter.log("the key is sk-1")
        journal.append([Failed("Qb0_Hb0", "Unreadable", "no letter")])
        reporter.write_heartbeat()
    said = folder.log.read_text().splitlines()
    assert [line.split(" ", 2)[2] for line in said] == ["paused", "the key is …1"]
    heartbeat = last_heartbeat(folder)
    assert heartbeat is not None
    assert (heartbeat["state"], heartbeat["counts"]["failed"], heartbeat["total"], reporter.missing) == ("paused", 1, 3, 3)
    assert heartbeat["rows_per_s"] > 0


def test_the_store_follows_until_it_is_over_whoever_holds_it_meanwhile(
    begun: tuple[Workspace, Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, run = begun
    states: list[State] = []

    def ingest(store: Store, folder: RunFolder, state: State) -> None:  # noqa: ARG001
        states.append(state)
        if len(states) == 1:
            raise StoreBusy("somebody else has it")
        over.set()

    monkeypatch.setattr(run_reporter, "ingest_journal", ingest)
    over = asyncio.Event()
    with Journal(workspace.run_folder(run.id)) as journal:
        reporter = reporter_of(workspace, journal, run)
        journal.append([Failed("Qb0_Hb0", "Unreadable", "no letter")])
        asyncio.run(asyncio.wait_for(reporter.ingest_until(over, 0.001), 30))
    assert states == ["running", "running"]
    assert "somebody else has it" in run_control.log_tail(workspace, run.id)[-1]


def test_a_run_that_the_store_lost_is_told_or_only_said_at_the_end(begun: tuple[Workspace, Run]) -> None:
    workspace, run = begun
    with Journal(workspace.run_folder(run.id)) as journal:
        reporter = reporter_of(workspace, journal, run)
        journal.append([Failed("Qb0_Hb0", "Unreadable", "no letter")])
        with workspace.store.write() as db:
            runs.delete(db, run.id)
        with pytest.raises(NotFound, match="not in the store any more"):
            asyncio.run(asyncio.wait_for(reporter.ingest_until(asyncio.Event(), 0.001), 30))
        asyncio.run(reporter.ingest_ending("stopped", "nobody answered"))
    assert "not in the store yet: run" in workspace.run_folder(run.id).log.read_text()
