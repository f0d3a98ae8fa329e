"""Audit lines of a journal and convert them to the store's layout, the slow work before writing
rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from core.base.errors import InputError
from core.base.types import Failed, RowResult
from core.methods.brief_checks import check_rows, flags_with_collapse
from core.runs.journal import read_entries
from core.runs.row_codec import Entry, RetryMark, calls_tokens, pair_id_of
from core.store import calls, evidence, predictions, traces
from core.store.queries import Insertion


class Piece(NamedTuple):
    """Whole lines of a run's journal. start, end: in bytes."""

    run: str
    file: Path
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Some lines of a journal. start, end: in bytes. pair_ids: of the row of each line, also if it
    is marked for retry.

    finished: the number of rows with a result or a failure. spent: tokens. damage: the fault in the
    next line, or None.
    """

    start: int
    end: int
    pair_ids: list[str]
    finished: int
    spent: int
    insertions: list[Insertion]
    damage: InputError | None


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

    def lay_out(self, run: str, start: int, end: int, damage: InputError | None) -> RowBatch:
        """Return them as rows of the store, with what the audit finds in their briefs."""
        results = [row for row in self.rows.values() if isinstance(row, RowResult)]
        failures = [row for row in self.rows.values() if isinstance(row, Failed)]
        findings, collapsed = check_rows(results)
        insertions = [
            predictions.insertion_of(run, results, flags_with_collapse(results, collapsed)),
            predictions.insertion_of_failed(run, failures),
            traces.insertion_of(run, results, findings),
            *evidence.insertions_of(run, results),
            *calls.insertions_of(
                run, {key: row.calls for key, row in self.rows.items() if row is not None}
            ),
        ]
        return RowBatch(
            start,
            end,
            list(self.rows),
            len(results) + len(failures),
            self.spent,
            insertions,
            damage,
        )


def read_batches(piece: Piece, most_rows: int, size: int) -> Iterator[RowBatch]:
    """Yield the lines of a piece in order, in batches of at most `most_rows` rows or `size` bytes.

    Raise InputError for an invalid line, after yielding the lines before it.
    """
    start = piece.start
    while start < piece.end:
        batch = read_piece(piece._replace(start=start, end=min(start + size, piece.end)), most_rows)
        if batch.end > start:
            yield batch
        if batch.damage is not None:
            raise batch.damage
        if batch.end == start:
            return  # a torn last line
        start = batch.end


def read_piece(piece: Piece, most_rows: int) -> RowBatch:
    """Return the lines of a piece, for at most `most_rows` rows, up to the first invalid line."""
    entries, end, damage = _Entries(), piece.start, None
    try:
        for entry, end in read_entries(piece.file, piece.start):
            entries.add(entry)
            if end >= piece.end or len(entries.rows) >= most_rows:
                break
    except InputError as error:
        damage = error
    return entries.lay_out(piece.run, piece.start, end, damage)
