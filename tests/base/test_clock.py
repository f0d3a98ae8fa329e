"""Every time that is shown is on one clock, on a machine that is not in UTC too, also of stores that are there already."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from core.base.row_schema import local_of, utc_of
from core.features.experiments.ledger import result_was_there
from core.runs.workspace import Workspace
from core.store import runs
from tests import worlds


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nine hours ahead of UTC, without summer time."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("tokyo")
def test_by_hand() -> None:
    utc = datetime(2026, 3, 1, 20, 0)
    assert local_of(utc) == local_of(utc.replace(tzinfo=UTC)) == datetime(2026, 3, 2, 5, 0)
    assert utc_of(datetime(2026, 3, 2, 5, 0)) == utc


@pytest.mark.soak
@pytest.mark.usefixtures("tokyo")
def test_a_store_that_is_there_shows_local_times(workspace: Workspace) -> None:
    """Workers wrote UTC, and go on doing so: a run that ended at 20:00 UTC ended at 5:00 of the next day."""
    worlds.import_screen(workspace)
    created = datetime(2026, 3, 2, 4, 0)
    with workspace.store.write() as db:
        run = runs.find(db, "llm train").id
        db.execute(
            "UPDATE run SET created_at = ?, finished_at = ? WHERE id = ?",
            [created, datetime(2026, 3, 1, 20, 0), run],
        )
    with workspace.store.write() as db:
        found = runs.find(db, run)
        assert (found.created_at, found.finished_at) == (created, created + timedelta(hours=1))
        runs.change_by_worker(db, run, started_at=created)
        assert runs.find(db, run).started_at == created
        assert db.execute("SELECT started_at FROM run WHERE id = ?", [run]).fetchone() == (
            datetime(2026, 3, 1, 19, 0),
        )
    for minutes, was_there in ((-1, False), (1, True)):
        assert (
            result_was_there(created + timedelta(hours=1, minutes=minutes), found, found)
            is was_there
        )
