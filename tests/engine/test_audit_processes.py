"""A long journal's briefs are checked by other processes, with the same result, whatever becomes of these."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.audit.brief_checks import RowBriefs, check_briefs
from core.engine import audit_processes
from core.engine import ingest as ingest_room
from core.engine.audit_processes import AuditProcesses
from core.engine.ingest import ingest_journal
from core.store import changes, predictions, traces
from core.types import Failed, RowResult, TraceEvent
from tests.engine.test_ingest import IDS, append, begun, found
from tests.engine.test_journal import row

ROWS = [
    RowBriefs("Pa_Ga", [("EFFECT", "C) Knockdown of Pa does not affect Ga."), ("NULL", "The heat response says so.")], {"heat"}),
    RowBriefs("Pa_Gb", [], set()),
]


def test_they_find_what_this_process_would_and_do_not_outlive_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_processes, "MOST_PROCESSES", 1)
    with pytest.raises(KeyboardInterrupt), AuditProcesses() as processes:
        [process] = processes._processes
        found = [processes.check(ROWS), processes.check(ROWS * 2_000)]
        assert [each.result() for each in found] == [check_briefs(ROWS), check_briefs(ROWS) * 2_000]
        process.kill()
        process.wait()  # so that the next request is left unsent
        assert processes.check(ROWS).result() == check_briefs(ROWS)  # found here
        raise KeyboardInterrupt
    assert process.returncode is not None


def test_a_long_journal_arrives_as_a_short_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ("C) Knockdown does not affect it.", "Qb1 raises Hb1. It does. Therefore losing Qb1 leads to lower Hb1.", "a")
    events = [TraceEvent("de", "EFFECT", "brief", text) for text in texts] + [TraceEvent("de", "JUDGE", "verdict", "C)")]
    rows = [RowResult(row(key).prediction, (events[i % 3], events[3], events[i // 2])) for i, key in enumerate(IDS)]
    stored = []
    for place, long_bytes in (("short", 1 << 20), ("long", 0)):
        workspace, folder = begun(tmp_path / place)
        append(folder, *rows[:4], Failed(rows[1].prediction.pair_id, "Unreadable", "?"), *rows[4:])
        monkeypatch.setattr(ingest_room, "LONG_BYTES", long_bytes)
        for name in ("BATCH_ROWS", "WORKER_BATCH_ROWS"):
            monkeypatch.setattr(ingest_room, name, 2)
        assert ingest_journal(workspace.store, folder, "done") == 7  # one of them twice
        with workspace.store.read() as db:
            found = [predictions.frame(db, folder.run), traces.frame(db, folder.run)]
            stored.append([each.map(str).to_numpy().tolist() for each in found])
    assert stored[0] == stored[1]
    assert {"answers", "own_side"} <= set(str(stored[0]).replace("'", " ").split())


def test_a_crash_while_others_are_read_and_checked_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, folder = begun(tmp_path)
    append(folder, *map(row, IDS))
    monkeypatch.setattr(ingest_room, "LONG_BYTES", 0)
    monkeypatch.setattr(ingest_room, "BATCH_ROWS", 1)
    steps = iter(range(99))

    def dies(*arguments: Any) -> None:
        bump(*arguments)
        if next(steps) == 3:
            raise KeyboardInterrupt

    bump = changes.bump
    with monkeypatch.context() as patched:
        patched.setattr(changes, "bump", dies)
        with pytest.raises(KeyboardInterrupt):
            ingest_journal(workspace.store, folder, "running")
    assert list(found(workspace)[1]) == IDS[:3]  # the transaction in which it died left nothing, and no other followed it
    assert ingest_journal(workspace.store, folder, "done") == 3
    assert list(found(workspace)[1]) == IDS
