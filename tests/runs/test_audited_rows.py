"""Rows that are audited and laid out batch by batch: they are the rows, however many batches they are, and few are in memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.base.types import Prediction, RowResult, TraceEvent
from core.features.importing import actions as imports
from core.features.importing.reader import read_path
from core.runs import audited_rows
from core.runs.audited_rows import audit_rows
from core.runs.workspace import Workspace
from tests.bundled import stored
from tests.large_files import write_pairs, write_submission

ROWS = 60


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Pairs, and a submission over all but the last of them, which has an id that no pair has."""
    submission = write_submission(tmp_path / "big.csv", ROWS)
    return write_pairs(tmp_path / "train.csv", ROWS - 1), submission


@pytest.mark.few(1)
@pytest.mark.parametrize("batch_rows", [1, 7, 10_000])
def test_a_run_is_the_same_however_many_batches_it_is_written_in(
    workspace: Workspace, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, batch_rows: int
) -> None:
    monkeypatch.setattr(audited_rows, "BATCH_ROWS", batch_rows)
    pairs, submission = files
    [_, outcome] = imports.import_paths(workspace, [pairs, submission])
    assert (outcome.rows, [bad.reason for bad in outcome.rejected]) == (ROWS - 1, ["unknown id"])
    rows = stored(workspace, "big")
    [run] = rows["run"]
    assert len(rows["prediction"]) == ROWS - 1
    # Of ten rows seven are debates of 6 events, one has 15 steps' events, one 18 of three agents, one a text for each seed.
    assert len(rows["trace_event"]) == _events(submission)
    assert ROWS - 1 in run


def _events(submission: Path) -> int:
    table = read_path(submission)
    return sum(len(row.events) for row in table.rows[:-1])  # type: ignore[union-attr]


def test_rows_left_out_are_not_written() -> None:
    rows = audit_rows(_make_rows(10, 10))
    left = rows.without(["row3", "row4"])
    written = [
        key
        for batch in left.batches("r")
        for each in batch
        if each.table == "prediction"
        for key in each.rows["pair_id"]
    ]
    assert [key.as_py() for key in written] == [f"row{i}" for i in range(10) if i not in (3, 4)]
    assert (len(rows), len(left)) == (10, 8)


@pytest.mark.soak
def test_memory_does_not_grow_with_the_rows() -> None:
    small, large = (_peak_bytes(n) for n in (1_000, 8_000))
    assert large < small + 8_000_000, "the texts of 8,000 rows are 80 MB"


def _peak_bytes(n: int) -> int:
    """The most memory of Python objects while so many rows of 10,000 characters are taken."""
    tracemalloc.start()
    try:
        audit_rows(_make_rows(n, 10_000))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _make_rows(n: int, characters: int) -> Iterator[RowResult]:
    for i in range(n):
        event = TraceEvent("trace", "MODEL", "text", f"{i:08}" * (characters // 8))
        yield RowResult(Prediction(f"row{i}", 0.1, 0.1, 0.2, 0.5, "file"), (event,))
