"""From journal to store: nothing lost, nothing doubled, wherever it was interrupted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.actions import folders, journals
from core.actions.desk import Desk
from core.engine import fold as folding_room
from core.engine.coding import Again, Entry
from core.engine.fold import fold
from core.engine.journal import Folder, Journal
from core.errors import NotFound
from core.store import calls, predictions, runs, trail, versions
from core.store.runs import Run
from core.types import Failed, Flag, RowResult, TraceEvent
from tests.engine.cases import desk_with, fast, stored_rows, wish
from tests.engine.methods import Counting
from tests.engine.test_journal import call, row

IDS = [f"Qb{i % 7}_Hb{i}" for i in range(6)]


def begun(path: Path) -> tuple[Desk, Folder]:
    """A run that waits for its worker."""
    desk = desk_with(path, 6)
    run = journals.launch(desk, wish(desk, Counting()), "r", fast(), begin=lambda *_: None)
    return desk, folders.folder_of(desk, run.id)


def append(folder: Folder, *entries: Entry) -> None:
    with Journal(folder) as journal:
        journal.append(entries)


def found(desk: Desk) -> tuple[Run, dict[str, Any]]:
    with desk.store.read() as db:
        run = runs.find(db, "r")
    frame = stored_rows(desk, run.id)
    assert frame["pair_id"].is_unique
    return run, dict(zip(frame["pair_id"], frame["error"].fillna(""), strict=True))


def test_rows_and_failures_arrive_with_counts(tmp_path: Path) -> None:
    desk, folder = begun(tmp_path)
    assert found(desk)[0].status == "waiting"
    brief = TraceEvent("de", "EFFECT", "brief", "C) Knockdown of Qb0 does not affect Hb0.")
    first = RowResult(row(IDS[0], 50, flags=(Flag.DE_FALLBACK,)).prediction, (brief,), (), (call("k1"), call("k2", cached=True)))
    append(folder, first, row(IDS[1], None), Failed(IDS[2], "Unreadable", "no letter", (call("k3"),)))
    assert fold(desk.store, folder, "running") == 3
    run, rows = found(desk)
    assert rows == {IDS[0]: "", IDS[1]: "", IDS[2]: "Unreadable: no letter"}
    assert (run.status, run.done, run.failed, run.fallbacks, run.collapsed, run.tokens_unknown) == ("running", 2, 1, 1, 1, 1)
    assert (run.tokens, run.spent_tokens) == (50 + 15, 15 + 15)
    assert run.folded_bytes == folder.rows.stat().st_size
    assert run.finished_at is None
    with desk.store.read() as db:
        assert predictions.flag_counts(db, run.id) == {"de_fallback": 1, "role_collapse": 1}
        assert [one.key for one in calls.of_row(db, run.id, IDS[0])] == ["k1", "k2"]
        assert calls.of_row(db, run.id, IDS[2]) == [call("k3")]
    assert fold(desk.store, folder, "done") == 0
    assert found(desk)[0].finished_at is not None


def test_the_same_journal_is_folded_once_however_often_it_is_tried(tmp_path: Path) -> None:
    desk, folder = begun(tmp_path)
    for i, pair_id in enumerate(IDS):
        append(folder, row(pair_id, 10, (call(f"k{i}"),)))
        for _ in range(2):
            fold(desk.store, folder, "running")
    run, rows = found(desk)
    assert (list(rows), run.tokens, run.spent_tokens) == (IDS, 60, 90)


@pytest.mark.parametrize("at", range(6))
def test_a_crash_between_two_transactions_costs_nothing(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, folder = begun(tmp_path)
    append(folder, *(row(pair_id, 10, (call(pair_id),)) for pair_id in IDS))
    monkeypatch.setattr(folding_room, "BATCH_ROWS", 1)
    steps = iter(range(99))

    def dies(*arguments: Any) -> None:
        versions_bump(*arguments)
        if next(steps) == at:
            raise KeyboardInterrupt

    versions_bump = versions.bump
    with monkeypatch.context() as patched:
        patched.setattr(versions, "bump", dies)
        with pytest.raises(KeyboardInterrupt):
            fold(desk.store, folder, "running")
    assert len(found(desk)[1]) == at  # the transaction in which it died left nothing
    fold(desk.store, folder, "done")
    run, rows = found(desk)
    assert (list(rows), run.done, run.tokens, run.spent_tokens) == (IDS, 6, 60, 90)


def test_failures_that_do_not_count_any_more_go_and_what_follows_replaces_them(tmp_path: Path) -> None:
    desk, folder = begun(tmp_path)
    append(folder, row(IDS[0]), Failed(IDS[1], "Unreadable", "?", (call("k1"),)), Failed(IDS[2], "Unreadable", "?"))
    fold(desk.store, folder, "done")
    append(folder, Again((IDS[1], IDS[2])))
    fold(desk.store, folder, "running")
    assert (list(found(desk)[1]), found(desk)[0].failed) == ([IDS[0]], 0)
    append(folder, row(IDS[1], 9, (call("k1"),)), row(IDS[2], 9), row(IDS[2], 11))
    fold(desk.store, folder, "done")
    run, rows = found(desk)
    assert rows == dict.fromkeys(IDS[:3], "")
    assert (run.done, run.failed, run.spent_tokens) == (3, 0, 30)  # the call that led to the failure was paid for too
    with desk.store.read() as db:
        assert predictions.row(db, run.id, IDS[2])["tokens"] == 11


def test_a_run_that_the_store_lost_is_said_to_be_gone(tmp_path: Path) -> None:
    desk, folder = begun(tmp_path)
    append(folder, row(IDS[0]))
    with desk.store.write() as db:
        runs.delete(db, folder.run)
    with pytest.raises(NotFound, match="not in the store any more"):
        fold(desk.store, folder, "done")


def test_folding_moves_the_versions_and_leaves_the_trail_alone(tmp_path: Path) -> None:
    desk, folder = begun(tmp_path)
    with desk.store.read() as db:
        before, said = versions.read(db), len(trail.latest(db))
    append(folder, row(IDS[0]))
    fold(desk.store, folder, "running")
    with desk.store.read() as db:
        after = versions.read(db)
        assert len(trail.latest(db)) == said
    assert after["runs"] > before["runs"]
    assert after[f"run:{folder.run}"] == 1
