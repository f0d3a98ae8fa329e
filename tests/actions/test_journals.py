"""Runs that a worker makes: names, states, what is refused, and what is recorded of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from core.actions import folders, journals
from core.actions.desk import Desk, open_desk
from core.engine.journal import Journal
from core.engine.spec import How, RunSpec
from core.errors import ReadOnly, StateError
from core.store import runs, trail
from core.types import Failed
from tests.engine.cases import desk_with, fast, status, wish
from tests.engine.methods import Counting, here


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_with(tmp_path / "workspace", 8)


def nobody(*_: Any) -> None:
    """Begins nothing: what a run looks like before its worker."""


def test_the_same_run_is_returned_and_another_of_its_name_refused(desk: Desk) -> None:
    method = Counting()
    first = journals.launch(desk, wish(desk, method), "r", fast(), begin=here(method))
    again = journals.launch(desk, wish(desk, method), "r", fast(rows_in_flight=3), begin=here(method))
    assert again == first
    assert len(method.asked) == 8
    other = wish(desk, method, seed=1)
    with pytest.raises(StateError, match="exists with another specification"):
        journals.launch(desk, other, "r", fast(), begin=here(method))
    replaced = journals.launch(desk, other, "r", fast(), replace=True, begin=here(method))
    assert replaced.id != first.id
    assert not folders.folder_of(desk, first.id).exists
    with desk.store.read() as db:
        assert [run.id for run in runs.all_of_them(db)] == [replaced.id]
        assert db.execute("SELECT DISTINCT run FROM prediction").fetchall() == [(replaced.id,)]


def test_a_run_is_known_by_its_dataset_name_and_specification(desk: Desk) -> None:
    spec = wish(desk, Counting())
    one = journals.launch(desk, spec, "one", fast(), begin=nobody)
    two = journals.launch(desk, spec, "two", fast("http://127.0.0.1:1/v1"), begin=nobody)
    assert one.id != two.id
    assert folders.folder_of(desk, one.id).spec() == folders.folder_of(desk, two.id).spec() == spec
    assert one.spec["rows"] == 8


def test_a_run_that_nobody_works_on_yet(desk: Desk) -> None:
    run = journals.launch(desk, wish(desk, Counting()), "r", fast(), begin=nobody)
    assert (run.status, run.origin, status(desk, run).state) == ("waiting", "run here", "waiting")
    assert journals.settle(desk, "r").status == "waiting"
    with pytest.raises(StateError, match="it is waiting, expected a run that is running"):
        journals.pause(desk, "r")
    with pytest.raises(StateError, match="no row failed"):
        journals.retry(desk, "r", begin=nobody)
    cancelled = journals.cancel(desk, "r")
    assert (cancelled.status, cancelled.cause) == ("cancelled", "a person cancelled it")
    method = Counting()
    assert journals.resume(desk, "r", begin=here(method)).status == "done"
    assert len(method.asked) == 8
    with desk.store.read() as db:
        assert trail.latest(db)["action"].tolist()[:3] == ["resume", "cancel", "run"]


def test_what_a_crashed_worker_left_is_folded_and_its_state_recorded(desk: Desk) -> None:
    spec = wish(desk, Counting())
    run = journals.launch(desk, spec, "r", fast(), begin=nobody)
    with Journal(folders.folder_of(desk, run.id)) as journal:
        journal.append([Failed(spec.rows[0], "Unreadable", "no letter")])
    assert journals.states(desk)[run.id].state == "crashed"
    [settled] = journals.settle_all(desk)
    assert (settled.status, settled.failed, settled.done) == ("crashed", 1, 0)
    assert journals.settle_all(desk) == []
    method = Counting()
    after = journals.resume(desk, "r", begin=here(method))
    assert (after.done, after.failed, len(method.asked)) == (7, 1, 7)
    assert journals.progress_of(desk, "r").done == 7
    assert any("ended: done" in line for line in journals.log_tail(desk, "r"))


def test_a_run_that_the_store_lost_is_taken_over_with_its_rows(desk: Desk) -> None:
    method = Counting()
    run = journals.launch(desk, wish(desk, method), "r", fast(), begin=here(method))
    with desk.store.write() as db:
        runs.delete(db, run.id)
    again = journals.launch(desk, wish(desk, method), "r", fast(), begin=here(method))
    assert (again.id, again.done, len(method.asked)) == (run.id, 8, 8)


def test_runs_of_other_origins_have_no_worker(small_desk: Desk) -> None:
    assert journals.states(small_desk) == {}
    for refused in (journals.pause, journals.cancel, journals.resume, journals.retry, journals.settle, journals.log_tail):
        with pytest.raises(StateError, match="run debate: imported, not made by a worker"):
            refused(small_desk, "debate")


def test_read_only_refuses_every_change(desk: Desk) -> None:
    method = Counting()
    spec: RunSpec = wish(desk, method)
    journals.launch(desk, spec, "r", fast(), begin=nobody)
    reader = open_desk(dataclasses.replace(desk.settings, read_only=True))
    for change in (
        lambda: journals.launch(reader, spec, "other", How(), begin=nobody),
        lambda: journals.resume(reader, "r", begin=nobody),
        lambda: journals.cancel(reader, "r"),
        lambda: journals.work_on(reader, "r"),
    ):
        with pytest.raises(ReadOnly, match="reading only"):
            change()
    assert not folders.folder_of(desk, "other").exists
    assert journals.states(reader)[next(iter(journals.states(reader)))].state == "waiting"
