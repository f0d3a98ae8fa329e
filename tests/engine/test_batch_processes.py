"""A long journal is read and audited by other processes, with the same result, whatever becomes of these."""

from __future__ import annotations

import errno
import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.config import REPOSITORY
from core.engine import batch_processes
from core.engine import ingest as ingest_room
from core.engine.batch_processes import BatchProcesses
from core.engine.ingest import ingest_journal
from core.engine.row_batches import Piece, RowBatch, pieces, read_piece
from core.engine.row_codec import Entry, encode_entry
from core.engine.run_folder import RunFolder
from core.errors import InputError, StoreBusy
from core.log import LOGGER
from core.store import calls, changes, evidence, predictions, traces
from core.types import Evidence, Failed, RowResult, TraceEvent
from tests.engine.test_ingest import IDS, append, begun, found
from tests.engine.test_journal import call, row


@pytest.fixture(autouse=True)
def _one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_processes, "MOST_PROCESSES", 1)


def _plain(batch: RowBatch) -> tuple[object, ...]:
    insertions = [(insertion.table, insertion.rows.to_pydict()) for insertion in batch.insertions]
    return batch.start, batch.end, batch.pair_ids, batch.finished, batch.spent, insertions


def whole(folder: RunFolder, start: int = 0) -> Piece:
    """The journal of a run from a byte on."""
    return Piece(folder.run, folder.rows, start, folder.rows.stat().st_size)


@pytest.mark.soak
def test_they_read_what_this_process_would_and_do_not_outlive_it(tmp_path: Path) -> None:
    _, folder = begun(tmp_path)
    append(folder, *map(row, IDS))
    cut = list(pieces(whole(folder), 1))
    expected = [_plain(read_piece(piece)) for piece in cut]
    assert [pair_ids for _, _, pair_ids, *_ in expected] == [[pair_id] for pair_id in IDS]
    with pytest.raises(KeyboardInterrupt), BatchProcesses() as processes:
        [process] = processes._processes
        assert list(map(_plain, processes.read_all(cut))) == expected
        assert process.poll() is None
        process.kill()
        process.wait()  # so that the next request is left unsent
        assert list(map(_plain, processes.read_all(cut))) == expected  # read here
        raise KeyboardInterrupt
    assert process.returncode is not None


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "limits", [{}, {"BATCH_ROWS": 1}, {"PIECE_BYTES": 1}, {"LONG_BYTES": 0}, {"LONG_BYTES": 0, "PIECE_BYTES": 1}]
)
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
        monkeypatch.setattr(ingest_room, name, value)
    with pytest.raises(InputError, match=rf"rows\.jsonl, byte {end}: journal: a line that cannot"):
        ingest_journal(workspace.store, folder, "crashed")
    assert list(found(workspace)[1]) == IDS[:4]
    assert found(workspace)[0].folded_bytes == end


def append_unread(folder: RunFolder, *entries: Entry) -> None:
    """Append lines to a journal that cannot be read as a whole."""
    with folder.rows.open("ab") as journal:
        journal.writelines(map(encode_entry, entries))


def test_a_process_that_was_killed_is_named_once_and_its_part_is_read_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(LOGGER, "warning", lambda text, *values: warnings.append(text % values))
    _, folder = begun(tmp_path)
    append(folder, *map(row, IDS))
    with BatchProcesses() as processes:
        processes._processes[0].kill()
        assert [batch.pair_ids for batch in processes.read_all(pieces(whole(folder), 1))] == [[pair_id] for pair_id in IDS]
    [warning] = warnings
    assert warning.startswith("a process that reads a journal ended (-9)")


@pytest.mark.soak
def test_nonsense_from_a_process_is_not_taken_for_its_next_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def talks() -> subprocess.Popen[bytes]:
        program = "import sys; sys.stdout.write('.'); sys.stdout.flush(); from core.engine import batch_processes as b; "
        command = (sys.executable, "-c", f"{program}b.serve(sys.stdin.buffer, sys.stdout.buffer)")
        return subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(batch_processes, "_start", talks)
    _, folder = begun(tmp_path)
    append(folder, *map(row, IDS))
    with BatchProcesses() as processes:
        assert [batch.pair_ids for batch in processes.read_all(pieces(whole(folder), 1))] == [[pair_id] for pair_id in IDS]


@pytest.mark.soak
def test_what_a_process_prints_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Python imports this module of any folder on its path when it starts; the process calls gc.disable before its first answer.
    (tmp_path / "sitecustomize.py").write_text("import gc; gc.disable = lambda: print('no answer', flush=True)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    _, folder = begun(tmp_path / "workspace")
    append(folder, row(IDS[0]))
    with BatchProcesses() as processes:
        [batch] = processes.read_all([whole(folder)])
        assert processes._processes[0].poll() is None  # it was not given up
    assert batch.pair_ids == IDS[:1]


def test_without_processes_this_one_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses() -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(batch_processes, "_start", refuses)
    monkeypatch.setattr(ingest_room, "LONG_BYTES", 0)
    workspace, folder = begun(tmp_path)
    append(folder, *map(row, IDS))
    assert ingest_journal(workspace.store, folder, "done") == 6
    assert list(found(workspace)[1]) == IDS


def test_a_failed_write_leaves_no_process_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun_processes: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        begun_processes.append(begin())
        return begun_processes[-1]

    def fails(*_: object) -> None:
        raise StoreBusy("held")

    begin = batch_processes._start
    monkeypatch.setattr(batch_processes, "_start", start)
    for name, value in {"LONG_BYTES": 0, "PIECE_BYTES": 1, "TRANSACTION_BYTES": 1}.items():
        monkeypatch.setattr(ingest_room, name, value)
    workspace, folder = begun(tmp_path)
    append(folder, *map(row, IDS))
    monkeypatch.setattr(ingest_room, "insert_all", fails)
    gc.disable()  # so that it is not the collector that ends them
    try:
        with pytest.raises(StoreBusy):
            ingest_journal(workspace.store, folder, "running")
        assert begun_processes
        assert all(process.returncode is not None for process in begun_processes)
    finally:
        gc.enable()


@pytest.mark.few(1)
@pytest.mark.parametrize("size", [1, 300, 700, 1 << 20])
@pytest.mark.parametrize("torn", [b"", b'{"v":1,"row":'])
def test_pieces_are_all_whole_lines_in_order(tmp_path: Path, size: int, torn: bytes) -> None:
    _, folder = begun(tmp_path)
    append(folder, *map(row, IDS))
    last = folder.rows.stat().st_size
    with folder.rows.open("ab") as journal:
        journal.write(torn)
    start = read_piece(Piece(folder.run, folder.rows, 0, 1)).end
    batches = [read_piece(piece) for piece in pieces(whole(folder, start), size)]
    assert [batch.start for batch in batches] == [start, *(batch.end for batch in batches[:-1])]
    assert batches[-1].end == last
    assert all(batch.end - batch.start >= size for batch in batches[:-1])
    assert [pair_id for batch in batches for pair_id in batch.pair_ids] == IDS[1:]


def _stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: list[Any], **limits: int) -> tuple[int, list[Any]]:
    workspace, folder = begun(tmp_path)
    append(folder, *entries)
    for name, value in limits.items():
        monkeypatch.setattr(ingest_room, name, value)
    written = ingest_journal(workspace.store, folder, "done")
    with workspace.store.read() as db:
        frames = [predictions.frame(db, folder.run), traces.frame(db, folder.run)]
        seen = [evidence.of_run(db, folder.run), [calls.of_row(db, folder.run, pair_id) for pair_id in IDS]]
    return written, [*(each.map(str).to_numpy().tolist() for each in frames), *seen]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("size", "most_rows"),
    [(1, 1), (1000, 5), *(pytest.param(*each, marks=pytest.mark.soak) for each in ((1000, 1), (1, 5), (1, 1000), (1000, 1000)))],
)
def test_a_long_journal_arrives_as_a_short_one_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, most_rows: int
) -> None:
    monkeypatch.setattr(batch_processes, "MOST_PROCESSES", 4)
    texts = ("C) Knockdown does not affect it.", "Qb1 raises Hb1. It does. Therefore losing Qb1 leads to lower Hb1.", "a")
    events = [TraceEvent("de", "EFFECT", "brief", text) for text in texts] + [TraceEvent("de", "JUDGE", "verdict", "C)")]
    answers = tuple(Evidence("go", key, "ok", "pack", None, {"terms": ["heat response"]}) for key in ("Qb1", "Hb1"))
    rows = [  # the same answers and calls in several pieces
        RowResult(row(key).prediction, (events[i % 3], events[3], events[i // 2]), answers[: i % 3], (call("same"), call(key)))
        for i, key in enumerate(IDS)
    ]
    again = [*rows[:4], Failed(rows[1].prediction.pair_id, "Unreadable", "?"), *rows[4:], rows[0]]  # two of them twice
    short = _stored(tmp_path / "short", monkeypatch, again)
    limits = {"LONG_BYTES": 0, "PIECE_BYTES": size, "TRANSACTION_ROWS": most_rows}
    long = _stored(tmp_path / "long", monkeypatch, again, **limits)
    assert short[0] == 6  # of one batch a row's last entry is written
    assert long[0] >= 6
    assert long[1] == short[1]
    # The second row failed in the end, so that it has neither.
    assert {pair_id: len(items) for pair_id, items in long[1][2].items()} == {IDS[2]: 2, IDS[4]: 1, IDS[5]: 2}
    assert [[found.key for found in of_row] for of_row in long[1][3]] == [["same", key] if key != IDS[1] else [] for key in IDS]
    assert {"answers", "own_side"} <= set(str(long[1]).replace("'", " ").split())


@pytest.mark.soak
def test_a_crash_while_others_are_read_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, folder = begun(tmp_path)
    append(folder, *map(row, IDS))
    for name, value in {"LONG_BYTES": 0, "PIECE_BYTES": 1, "TRANSACTION_BYTES": 1}.items():
        monkeypatch.setattr(ingest_room, name, value)
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
