"""From journal to store: nothing lost, nothing doubled, wherever it was interrupted."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.base.errors import DeskError, InputError, NotFound, StoreBusy, SystemFailure
from core.base.types import Evidence, Failed, Flag, RowResult, TraceEvent
from core.runs import ingest as folding_room
from core.runs.ingest import BATCH_BYTES, RunReporter, ingest_journal
from core.runs.jobs.folder import log_tail
from core.runs.jobs.state import last_heartbeat
from core.runs.journal import Entry, Journal, RetryMark, encode_entry
from core.runs.run_folder import WORKER_STORE_MB, RunFolder
from core.runs.workspace import Workspace
from core.store import Store, calls, changes, evidence, predictions, runs, traces
from core.store.runs import Run
from tests.runs.cases import run_named, stored_rows, waiting_run, workspace_with
from tests.runs.test_journal import call, row

IDS = [f"Qb{i % 7}_Hb{i}" for i in range(6)]


def begun(path: Path) -> tuple[Workspace, RunFolder]:
    """A run that waits for its worker."""
    workspace = workspace_with(path, 6)
    run = waiting_run(workspace)
    return workspace, workspace.run_folder(run.id)


def append(folder: RunFolder, *entries: Entry) -> None:
    with Journal(folder) as journal:
        journal.append(entries)


def found(workspace: Workspace) -> tuple[Run, dict[str, Any]]:
    run = run_named(workspace, "r")
    frame = stored_rows(workspace, run.id)
    assert frame["pair_id"].is_unique
    return run, dict(zip(frame["pair_id"], frame["error"].fillna(""), strict=True))


@pytest.mark.soak
def test_rows_and_failures_arrive_with_counts(tmp_path: Path) -> None:
    workspace, folder = begun(tmp_path)
    assert found(workspace)[0].status == "waiting"
    brief = TraceEvent("de", "EFFECT", "brief", "C) Knockdown of Qb0 does not affect Hb0.")
    first = RowResult(
        row(IDS[0], 50, flags=(Flag.DE_FALLBACK,)).prediction,
        (brief,),
        (),
        (call("k1"), call("k2", cached=True)),
    )
    append(
        folder, first, row(IDS[1], None), Failed(IDS[2], "Unreadable", "no letter", (call("k3"),))
    )
    assert ingest_journal(workspace.store, folder, "running") == 3
    run, rows = found(workspace)
    assert rows == {IDS[0]: "", IDS[1]: "", IDS[2]: "Unreadable: no letter"}
    assert (run.status, run.done, run.failed, run.fallbacks, run.collapsed, run.tokens_unknown) == (
        "running",
        2,
        1,
        1,
        1,
        1,
    )
    assert (run.tokens, run.spent_tokens) == (50 + 15, 15 + 15)
    assert run.folded_bytes == folder.rows.stat().st_size
    assert run.finished_at is None
    with workspace.store.read() as db:
        assert predictions.flag_counts(db, run.id) == {"de_fallback": 1, "role_collapse": 1}
        assert [one.key for one in calls.of_row(db, run.id, IDS[0])] == ["k1", "k2"]
        assert calls.of_row(db, run.id, IDS[2]) == [call("k3")]
    assert ingest_journal(workspace.store, folder, "done") == 0
    assert found(workspace)[0].finished_at is not None


@pytest.mark.soak
@pytest.mark.parametrize("at", range(6))
def test_a_crash_between_two_transactions_costs_nothing(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, folder = begun(tmp_path)
    append(folder, *(row(pair_id, 10, (call(pair_id),)) for pair_id in IDS))
    monkeypatch.setattr(folding_room, "BATCH_ROWS", 1)
    steps = iter(range(99))

    def dies(*arguments):
        versions_bump(*arguments)
        if next(steps) == at:
            raise KeyboardInterrupt

    versions_bump = changes.bump
    with monkeypatch.context() as patched:
        patched.setattr(changes, "bump", dies)
        with pytest.raises(KeyboardInterrupt):
            ingest_journal(workspace.store, folder, "running")
    assert len(found(workspace)[1]) == at  # the transaction in which it died left nothing
    ingest_journal(workspace.store, folder, "done")
    run, rows = found(workspace)
    assert (list(rows), run.done, run.tokens, run.spent_tokens) == (IDS, 6, 60, 90)


@pytest.mark.soak
def test_the_reporter_ingests_no_more_than_the_journal_has_for_sure(tmp_path: Path) -> None:
    workspace, folder = begun(tmp_path)
    with Journal(folder) as journal:
        journal.append([row(IDS[0])])
        reporter = reporter_of(workspace, journal, found(workspace)[0])
        with folder.rows.open("ab") as other:
            other.write(encode_entry(row(IDS[1])))  # written, and not synced yet
        asyncio.run(reporter.ingest_ending("interrupted", ""))
    assert list(found(workspace)[1]) == IDS[:1]


@pytest.mark.soak
def test_lines_that_are_gone_are_not_missed_when_others_take_their_place(tmp_path: Path) -> None:
    """A power cut took the second of two rows, which were in the store; the worker that goes on finishes others."""
    workspace, folder = begun(tmp_path)
    append(folder, row(IDS[0]))
    sure = folder.rows.stat().st_size
    append(folder, row(IDS[1]))
    ingest_journal(workspace.store, folder, "running")
    with folder.rows.open("ab") as journal:
        journal.truncate(sure)
    folding_room.record_start(workspace.store, folder)
    append(folder, row(IDS[2]), row(IDS[1]))
    ingest_journal(workspace.store, folder, "done")
    run, rows = found(workspace)
    assert (sorted(rows), run.done, run.folded_bytes) == (IDS[:3], 3, folder.rows.stat().st_size)


@pytest.mark.soak
def test_failures_that_do_not_count_any_more_go_and_what_follows_replaces_them(
    tmp_path: Path,
) -> None:
    workspace, folder = begun(tmp_path)
    append(
        folder,
        row(IDS[0]),
        Failed(IDS[1], "Unreadable", "?", (call("k1"),)),
        Failed(IDS[2], "Unreadable", "?"),
    )
    ingest_journal(workspace.store, folder, "done")
    append(folder, RetryMark((IDS[1], IDS[2])))
    ingest_journal(workspace.store, folder, "running")
    assert (list(found(workspace)[1]), found(workspace)[0].failed) == ([IDS[0]], 0)
    append(folder, row(IDS[1], 9, (call("k1"),)), row(IDS[2], 9), row(IDS[2], 11))
    ingest_journal(workspace.store, folder, "done")
    run, rows = found(workspace)
    assert rows == dict.fromkeys(IDS[:3], "")
    assert (run.done, run.failed, run.spent_tokens) == (
        3,
        0,
        30,
    )  # the call that led to the failure was paid for too
    with workspace.store.read() as db:
        assert predictions.row(db, run.id, IDS[2])["tokens"] == 11


@pytest.mark.soak
def test_folding_moves_the_versions_and_leaves_the_trail_alone(tmp_path: Path) -> None:
    workspace, folder = begun(tmp_path)
    with workspace.store.read() as db:
        before, said = changes.versions(db), len(changes.latest(db))
    append(folder, row(IDS[0]))
    ingest_journal(workspace.store, folder, "running")
    with workspace.store.read() as db:
        after = changes.versions(db)
        assert len(changes.latest(db)) == said
    assert after["runs"] > before["runs"]
    assert after[f"run:{folder.run}"] == 1


@pytest.fixture
def waiting(tmp_path: Path) -> tuple[Workspace, Run]:
    """A run of three rows that nobody works on."""
    workspace = workspace_with(tmp_path, 3)
    return workspace, waiting_run(workspace)


def reporter_of(
    workspace: Workspace, journal: Journal, run: Run, store: Store | None = None
) -> RunReporter:
    return RunReporter(
        workspace.run_folder(run.id),
        store or workspace.store,
        journal.progress,
        run.total,
        lambda text: text.replace("sk-", "…"),
    )


def test_a_state_is_said_once_and_nothing_secret_ever(waiting: tuple[Workspace, Run]) -> None:
    workspace, run = waiting
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
    assert (
        heartbeat["state"],
        heartbeat["counts"]["failed"],
        heartbeat["total"],
        reporter.missing,
    ) == ("paused", 1, 3, 3)
    assert heartbeat["rows_per_s"] > 0


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "error", [StoreBusy("somebody else has it"), SystemFailure("somebody else has it")]
)
def test_the_store_follows_until_it_is_over_whatever_is_in_its_way_meanwhile(
    waiting: tuple[Workspace, Run], monkeypatch: pytest.MonkeyPatch, error: DeskError
) -> None:
    workspace, run = waiting
    states = []

    def ingest(_store, folder, state, _cause="", *, until):
        assert until == folder.rows.stat().st_size
        states.append(state)
        if len(states) == 1:
            raise error
        over.set()

    monkeypatch.setattr(folding_room, "ingest_journal", ingest)
    over = asyncio.Event()
    with Journal(workspace.run_folder(run.id)) as journal:
        reporter = reporter_of(workspace, journal, run)
        journal.append([Failed("Qb0_Hb0", "Unreadable", "no letter")])
        asyncio.run(asyncio.wait_for(reporter.ingest_until(over, 0.001), 30))
    assert states == ["running", "running"]
    assert "somebody else has it" in log_tail(workspace.run_folder(run.id))[-1]


def test_a_run_that_the_store_lost_is_told_or_only_said_at_the_end(
    waiting: tuple[Workspace, Run],
) -> None:
    workspace, run = waiting
    with Journal(workspace.run_folder(run.id)) as journal:
        reporter = reporter_of(workspace, journal, run)
        journal.append([Failed("Qb0_Hb0", "Unreadable", "no letter")])
        with workspace.store.write() as db:
            runs.delete(db, run.id)
        with pytest.raises(NotFound, match="not in the store"):
            asyncio.run(asyncio.wait_for(reporter.ingest_until(asyncio.Event(), 0.001), 30))
        asyncio.run(reporter.ingest_ending("stopped", "nobody answered"))
    assert "not in the store yet: run" in workspace.run_folder(run.id).log.read_text()


def test_a_transaction_fits_the_store_of_a_worker() -> None:
    assert 3 * BATCH_BYTES <= WORKER_STORE_MB << 20


@pytest.mark.soak
@pytest.mark.parametrize("megabytes", [4, pytest.param(24, marks=pytest.mark.soak)])
def test_rows_too_long_for_the_memory_of_a_store_arrive_in_one_with_more(
    tmp_path: Path, megabytes: int
) -> None:
    workspace, folder = begun(tmp_path)
    small = Store(
        workspace.settings.store_file,
        tmp_path / "scratch",
        memory_mb=WORKER_STORE_MB * megabytes // 24,
    )
    with Journal(folder) as journal:
        for pair_id in IDS:
            long = replace(call(pair_id), reply=os.urandom(megabytes << 19).hex())
            journal.append([RowResult(row(pair_id, 50).prediction, (), (), (long,))])
        reporter = reporter_of(workspace, journal, found(workspace)[0], small)
        asyncio.run(reporter.ingest_ending("done", ""))
    assert list(found(workspace)[1]) == IDS
    assert f"this worker gives it {2 * small.memory_mb:,} MB" in folder.log.read_text()


@pytest.mark.few(2)
@pytest.mark.parametrize("limits", [{}, {"BATCH_ROWS": 1}, {"BATCH_BYTES": 1}])
def test_what_stands_before_a_damaged_line_arrives(
    limits: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, folder = begun(tmp_path)
    append(folder, *map(row, IDS[:4]))
    end = folder.rows.stat().st_size
    with folder.rows.open("ab") as journal:
        journal.write(b"what?\n")
    append_unread(folder, *map(row, IDS[4:]))
    for name, value in limits.items():
        monkeypatch.setattr(folding_room, name, value)
    with pytest.raises(InputError, match=rf"rows\.jsonl, byte {end}: journal: a line that cannot"):
        ingest_journal(workspace.store, folder, "crashed")
    assert list(found(workspace)[1]) == IDS[:4]
    assert found(workspace)[0].folded_bytes == end


def append_unread(folder: RunFolder, *entries: Entry) -> None:
    """Append lines to a journal that cannot be read as a whole."""
    with folder.rows.open("ab") as journal:
        journal.writelines(map(encode_entry, entries))


def _stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: list[Any], **limits: int
) -> tuple[int, list[Any]]:
    workspace, folder = begun(tmp_path)
    append(folder, *entries)
    for name, value in limits.items():
        monkeypatch.setattr(folding_room, name, value)
    written = ingest_journal(workspace.store, folder, "done")
    with workspace.store.read() as db:
        frames = [predictions.frame(db, folder.run), traces.frame(db, folder.run)]
        seen = [
            evidence.of_run(db, folder.run),
            [calls.of_row(db, folder.run, pair_id) for pair_id in IDS],
        ]
    return written, [*(each.map(str).to_numpy().tolist() for each in frames), *seen]


@pytest.mark.soak
@pytest.mark.parametrize("most_rows", [1, 3])
def test_a_long_journal_arrives_as_a_short_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_rows: int
) -> None:
    texts = (
        "C) Knockdown does not affect it.",
        "Qb1 raises Hb1. It does. Therefore losing Qb1 leads to lower Hb1.",
        "a",
    )
    events = [TraceEvent("de", "EFFECT", "brief", text) for text in texts] + [
        TraceEvent("de", "JUDGE", "verdict", "C)")
    ]
    answers = tuple(
        Evidence("go", key, "ok", "pack", None, {"terms": ["heat response"]})
        for key in ("Qb1", "Hb1")
    )
    rows = [  # the same answers and calls in several pieces
        RowResult(
            row(key).prediction,
            (events[i % 3], events[3], events[i // 2]),
            answers[: i % 3],
            (call("same"), call(key)),
        )
        for i, key in enumerate(IDS)
    ]
    again = [
        *rows[:4],
        Failed(rows[1].prediction.pair_id, "Unreadable", "?"),
        *rows[4:],
        rows[0],
    ]  # two of them twice
    short = _stored(tmp_path / "short", monkeypatch, again)
    long = _stored(tmp_path / "long", monkeypatch, again, BATCH_ROWS=most_rows)
    assert short[0] == 6  # of one batch a row's last entry is written
    assert long[0] >= 6
    assert long[1] == short[1]
    # The second row failed in the end, so that it has neither.
    assert {pair_id: len(items) for pair_id, items in long[1][2].items()} == {
        IDS[2]: 2,
        IDS[4]: 1,
        IDS[5]: 2,
    }
    assert [[found.key for found in of_row] for of_row in long[1][3]] == [
        ["same", key] if key != IDS[1] else [] for key in IDS
    ]
    assert {"answers", "own_side"} <= set(str(long[1]).replace("'", " ").split())
