"""Lines of a journal, audited and laid out as the store holds them: what takes long before rows are written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from core.audit.brief_checks import check_rows, flags_with_collapse
from core.engine.journal import read_entries
from core.engine.row_codec import Entry, RetryMark, calls_tokens, pair_id_of
from core.store import calls, evidence, predictions, traces
from core.store.queries import Insertion
from core.types import Failed, RowResult

BATCH_BYTES = 1 << 26


class Piece(NamedTuple):
    """Whole lines of a run's journal. start, end: in bytes."""

    run: str
    file: Path
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Some lines of a journal. start, end: in bytes. pair_ids: of the rows that they are about, those among them that are to be
    asked again. finished: how many rows have a result or failed. spent: tokens."""

    start: int
    end: int
    pair_ids: list[str]
    finished: int
    spent: int
    insertions: list[Insertion]


@dataclass(slots=True)
class _Entries:
    """Entries of a journal. rows: pair id → its last entry, None for a failure marked for retry."""

    rows: dict[str, RowResult | Failed | None] = field(default_factory=dict)
    spent: int = 0

    def add(self, entry: Entry) -> None:
        if isinstance(entry, RetryMark):
            self.rows |= dict.fromkeys(entry.pair_ids)
        else:
            self.rows[pair_id_of(entry)] = entry
            self.spent += calls_tokens(entry.calls, spent=True)

    def lay_out(self, run: str, start: int, end: int) -> RowBatch:
        """Returns them as rows of the store, with what the audit finds in their briefs."""
        results = [row for row in self.rows.values() if isinstance(row, RowResult)]
        failures = [row for row in self.rows.values() if isinstance(row, Failed)]
        findings, collapsed = check_rows(results)
        insertions = [
            predictions.insertion_of(run, results, flags_with_collapse(results, collapsed)),
            predictions.insertion_of_failed(run, failures),
            traces.insertion_of(run, results, findings),
            *evidence.insertions_of(run, results),
            *calls.insertions_of(run, {key: row.calls for key, row in self.rows.items() if row is not None}),
        ]
        return RowBatch(start, end, list(self.rows), len(results) + len(failures), self.spent, insertions)


def read_batches(run: str, file: Path, start: int, most_rows: int) -> Iterator[RowBatch]:
    """Yields the whole lines of a journal from a byte on, in order. Raises InputError for a line that is no entry."""
    entries, end = _Entries(), start
    for entry, end in read_entries(file, start):
        entries.add(entry)
        if len(entries.rows) >= most_rows or end - start >= BATCH_BYTES:
            yield entries.lay_out(run, start, end)
            entries, start = _Entries(), end
    if end > start:
        yield entries.lay_out(run, start, end)


def read_piece(piece: Piece) -> RowBatch:
    """Returns the lines of a piece. Raises InputError for a line that is no entry."""
    entries, end = _Entries(), piece.start
    for entry, end in read_entries(piece.file, piece.start):
        entries.add(entry)
        if end >= piece.end:
            break
    return entries.lay_out(piece.run, piece.start, end)


def pieces(run: str, file: Path, start: int, size: int) -> Iterator[Piece]:
    """Yields the whole lines of a journal from a byte on, cut where a line ends, in pieces of at least so many bytes; the last
    may be shorter."""
    with file.open("rb") as journal:
        last = journal.seek(0, os.SEEK_END)
        while start + size < last:
            journal.seek(start + size - 1)
            if not journal.readline().endswith(b"\n"):
                break  # a torn last line
            yield Piece(run, file, start, journal.tell())
            start = journal.tell()
        if start < last:
            yield Piece(run, file, start, last)
