"""Finished rows, audited and in the store's layout: some thousand in memory, the others in a file.

There may be gigabytes of traces, so there is no room for a second copy.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from core.base.environment import describe as describe_version
from core.base.file_io import UnnamedFile
from core.base.system_errors import explain
from core.base.types import RowResult
from core.methods import brief_checks
from core.store import Cursor, changes, evidence, predictions, runs, traces
from core.store.queries import Insertion, insert_all
from core.store.runs import Run

BATCH_ROWS = 2_000
BATCH_CHARACTERS = 4 << 20  # of texts
_NO_RUN = ""  # rows are laid out before it is known whose they are


class _Place(NamedTuple):
    """Where in the file rows for a table begin."""

    table: str
    ignore_existing: bool
    start: int


@dataclass(frozen=True, slots=True, eq=False)
class AuditedRows:
    """Rows with the findings of the audit. pair_ids: of all rows, in order, as Arrow has texts.
    left_out: ids of rows that are not to be written."""

    pair_ids: pa.ChunkedArray
    left_out: frozenset[str]
    _places: Sequence[Sequence[_Place]]
    _spool: TableSpool

    def __len__(self) -> int:
        return len(self.pair_ids) - len(self.left_out)

    def without(self, pair_ids: Collection[str]) -> AuditedRows:
        """Return the rows but those with these ids, which have to be some of `pair_ids`."""
        return AuditedRows(self.pair_ids, frozenset(pair_ids), self._places, self._spool)

    def batches(self, run: str) -> Iterator[list[Insertion]]:
        """Yield the rows as those of a run (id), some thousand at a time."""
        left_out = pa.array(sorted(self.left_out), pa.string())
        for places in self._places:
            yield [self._read(place, run, left_out) for place in places]

    def _read(self, place: _Place, run: str, left_out: pa.Array) -> Insertion:
        table = self._spool.read(place.start)
        if "run" in table.column_names:  # evidence is shared by all runs
            table = table.set_column(
                table.column_names.index("run"), "run", pa.repeat(run, table.num_rows)
            )
            if len(left_out):
                table = table.filter(pc.invert(pc.is_in(table["pair_id"], value_set=left_out)))
        return Insertion(place.table, table, place.ignore_existing)


class RowSpool:
    """Takes rows one by one, and has them audited and laid out batch by batch."""

    def __init__(self) -> None:
        self._spool = TableSpool()
        self._pair_ids: list[pa.Array] = []
        self._places: list[list[_Place]] = []
        self._waiting: list[RowResult] = []
        self._characters = 0

    def add(self, row: RowResult) -> None:
        """Take a row. Raise SystemFailure if it is to be written to the disk and cannot be."""
        self._waiting.append(row)
        self._characters += sum(len(event.content) for event in row.events)
        if len(self._waiting) >= BATCH_ROWS or self._characters >= BATCH_CHARACTERS:
            self._write_waiting()

    def add_predictions(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Take rows without traces, by the fields of their predictions. Raise as `add`."""
        self._write_waiting()
        self._write([predictions.insertion_of_columns(_NO_RUN, columns)])

    def finish(self) -> AuditedRows:
        """Return all rows that were added; none can be added afterwards."""
        self._write_waiting()
        pair_ids = pa.chunked_array(self._pair_ids, pa.string())
        return AuditedRows(pair_ids, frozenset(), self._places, self._spool)

    def _write_waiting(self) -> None:
        rows, self._waiting, self._characters = self._waiting, [], 0
        if not rows:
            return
        findings, collapsed = brief_checks.check_rows(rows)
        insertions = [
            predictions.insertion_of(
                _NO_RUN, rows, brief_checks.flags_with_collapse(rows, collapsed)
            ),
            traces.insertion_of(_NO_RUN, rows, findings),
            *evidence.insertions_of(_NO_RUN, rows),
        ]
        self._write(insertions)

    def _write(self, insertions: Sequence[Insertion]) -> None:
        """Write insertions to the file; the first is that of the predictions."""
        self._pair_ids += insertions[0].rows["pair_id"].chunks
        self._places.append(
            [
                _Place(table, ignored, self._spool.add(new))
                for table, new, ignored in insertions
                if new.num_rows
            ]
        )


def audit_rows(rows: Iterable[RowResult]) -> AuditedRows:
    """Return rows with the findings of their briefs. Called before the store is locked, since it
    takes a while."""
    spool = RowSpool()
    for row in rows:
        spool.add(row)
    return spool.finish()


_UNCOUNTED: Mapping[str, Any] = dict.fromkeys(
    ("failed", "fallbacks", "collapsed", "tokens_unknown"), 0
)
_UNKNOWN: Mapping[str, Any] = dict.fromkeys(("tokens", "track", "model"))


def write_run(db: Cursor, rows: AuditedRows, **of_run: Any) -> Run:
    """Store a finished run with its rows, traces and evidence, in the caller's transaction; return
    it.

    of_run: the fields of `Run` that its rows do not tell. `id` is made from `spec`'s content, so
    that two people's links agree.
    """
    finished: dict[str, Any] = {
        "status": "done",
        "total": len(rows),
        "done": len(rows),
        "parents": (),
    }
    run = Run(
        **{**_UNCOUNTED, **_UNKNOWN, **finished, "code_version": describe_version(), **of_run}
    )
    runs.add(db, run)
    for batch in rows.batches(run.id):
        insert_all(db, batch)
    runs.update_counts(db, run.id)
    changes.bump(db, "runs", f"run:{run.id}")
    return runs.find(db, run.id)


class TableSpool:
    """The tables, each by its position in the file, which is deleted with the last reference to
    this record."""

    def __init__(self) -> None:
        self._file = UnnamedFile()

    def add(self, table: pa.Table) -> int:
        """Write a table and return its place. Raise SystemFailure if the disk does not take it."""
        try:
            place = self._file.seek(0, 2)
            with pa.ipc.new_stream(self._file, table.schema) as out:
                out.write_table(table)
        except OSError as error:
            raise explain(error, tempfile.gettempdir()) from error
        return place

    def read(self, place: int) -> pa.Table:
        """Return the table of a place."""
        self._file.seek(place)
        return pa.ipc.open_stream(self._file).read_all()
