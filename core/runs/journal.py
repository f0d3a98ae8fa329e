"""Files that a run appends to: the journal, with one line per finished or failed row, and the
spending log.

A run that asks a model keeps a spending log: a line for each request and one for its answer, with
the answers and the tokens of the run so far and the requests that wait for an answer, as JSON
("[12, 3456, 8]"). A line is written before a request is sent, and as soon as its answer is read,
before it is parsed. Requests of a killed worker count as unanswered, since their answers are
unknown. Answers from the response cache cost nothing and are not in it.
"""

from __future__ import annotations

import errno
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, Self

import jiter

from core.base.errors import InputError
from core.base.file_io import sync_folder
from core.base.row_schema import (
    MOST_EVENTS,
    MOST_TOKENS,
    SUM_TOLERANCE,
    TABLES,
    VERSION,
    Column,
    record_as_json,
    record_from_json,
    record_values,
)
from core.base.texts import parse_json
from core.base.types import (
    Call,
    Evidence,
    Failed,
    FinishedRow,
    JsonObject,
    Prediction,
    RowResult,
    TraceEvent,
)
from core.llm.messages import Outcome, Usage
from core.runs.run_folder import RunFolder

_LONGEST_LINE = 64  # bytes, of the spending log


@dataclass(slots=True)
class Progress:
    """The contents of a journal, counted.

    finished: ids of the rows that need no request. failed: those of them that failed → the request
    keys of their calls, () if a call got no answer. rejected_keys: such keys of rows to be
    repeated, whose cached answers would make them fail again. cost: tokens of each row's last line;
    spent: tokens of all lines, answers from the cache left out. repeated: how many rows were
    finished again without a retry. bytes: of whole lines.
    """

    finished: set[str] = field(default_factory=set)
    failed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rejected_keys: set[str] = field(default_factory=set)
    cost: Counter[str] = field(default_factory=Counter)
    spent: int = 0
    repeated: int = 0
    bytes: int = 0

    def add(self, entry: Entry) -> None:
        """Count an entry; a row's last entry wins."""
        if isinstance(entry, RetryMark):
            for pair_id in entry.pair_ids:
                self.rejected_keys.update(self.failed.pop(pair_id, ()))
                self.finished.discard(pair_id)
            return
        pair_id = entry.pair_id
        self.repeated += pair_id in self.finished
        self.failed.pop(pair_id, None)
        self.finished.add(pair_id)
        self.spent += calls_tokens(entry.calls, spent=True)
        self.cost[pair_id] = cost_of(entry)
        if isinstance(entry, Failed):
            self.failed[pair_id] = (
                ()
                if any(call.error for call in entry.calls)
                else tuple(call.key for call in entry.calls)
            )

    @property
    def done(self) -> int:
        """The number of rows with a prediction."""
        return len(self.finished) - len(self.failed)


def cost_of(row: FinishedRow) -> int:
    """Return the tokens of a row, including cached answers: the method's count, or otherwise the
    sum over its calls."""
    if isinstance(row, RowResult) and row.prediction.tokens is not None:
        return row.prediction.tokens
    return calls_tokens(row.calls, spent=False)


def read_entries(file: Path, start: int = 0) -> Iterator[tuple[Entry, int]]:
    """Yield (entry, position of its line's end in bytes) from a byte on; a torn last line is left
    out. Raise InputError for any other line."""
    if not file.exists():
        return
    with file.open("rb") as journal:
        journal.seek(start)
        for line in journal:
            if not line.endswith(b"\n"):
                return
            try:
                entry = decode_entry(line)
            except InputError as error:
                raise InputError(f"{file}, byte {start:,}: {error}") from error
            start += len(line)
            yield entry, start


def read_progress(file: Path) -> Progress:
    """Return the contents of a journal, counted in one pass that keeps no row."""
    progress = Progress()
    for entry, end in read_entries(file):
        progress.add(entry)
        progress.bytes = end
    return progress


class Journal:
    """A journal that is open for appending. Opening it cuts a torn last line off."""

    def __init__(self, folder: RunFolder, scrub: Callable[[str], str] = str) -> None:
        self.progress = read_progress(folder.rows)
        self._scrub = scrub
        self._file: FileIO = folder.rows.open("ab", buffering=0)
        self._file.truncate(self.progress.bytes)
        os.fsync(self._file.fileno())
        sync_folder(folder.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, entries: Iterable[Entry]) -> None:
        """Append entries and wait until they are on disk: then, and not before, their rows are
        finished.

        A result that JSON cannot hold is written as its row's failure. Raise OSError, with none of
        the entries written.
        """
        written = [self._line(entry) for entry in entries]
        content = memoryview(b"".join(line for _, line in written))
        try:
            while content:
                content = content[self._file.write(content) :]
            os.fsync(self._file.fileno())
        except OSError:
            self._file.truncate(self.progress.bytes)
            raise
        for entry, line in written:
            self.progress.bytes += len(line)
            self.progress.add(entry)

    def _line(self, entry: Entry) -> tuple[Entry, bytes]:
        """Return the written part of an entry, and its line. A failure has its calls if JSON can
        represent them."""
        try:
            return entry, encode_entry(entry, self._scrub)
        except InputError as error:
            if isinstance(entry, RetryMark):
                raise
            failed = Failed(
                entry.pair_id,
                type(error).__name__,
                str(error).encode("utf-8", "replace").decode(),
                entry.calls,
            )
        if isinstance(entry, Failed):
            failed = replace(failed, calls=())
            return failed, encode_entry(failed, self._scrub)
        return self._line(failed)


def mark_for_retry(folder: RunFolder, pair_ids: Sequence[str]) -> None:
    """Mark failed rows as not finished. The caller must hold the run's lock."""
    with Journal(folder) as journal:
        journal.append([RetryMark(tuple(pair_ids))])


class Spending(NamedTuple):
    """The spending of a run: answers and their tokens. unanswered: requests without an answer or a
    failure.

    Those of dead workers may have been answered, and paid for, after their death.
    """

    answers: int = 0
    tokens: int = 0
    unanswered: int = 0


def read_spending(file: Path) -> Spending | None:
    """Return a run's spending from its spending log; None without one."""
    try:
        found, _, _ = _read_last_line(file)
    except FileNotFoundError:
        return None
    return found


class SpendingLog:
    """A run's spending log, for appending; the first request creates the file. so_far: the run's
    spending.

    estimated: further tokens, of answers whose tokens the server did not count. before: tokens of
    the rows in the run's journal, for a run that was started without this log. A torn last line is
    cut off.
    """

    def __init__(self, file: Path, before: int = 0) -> None:
        self._path = file
        self._file: FileIO | None = None
        self.so_far, self._bytes = Spending(tokens=before), 0
        self.estimated = 0
        if file.exists():
            found, self.estimated, self._bytes = _read_last_line(file)
            self.so_far = found._replace(tokens=max(found.tokens, before))
            os.truncate(file, self._bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def count(self, outcome: Outcome) -> None:
        """Count a request that is sent, that failed, or that got an answer of this cost, and writes
        the sums down.

        Raise OSError if the line cannot be written whole.
        """
        answers, tokens, unanswered = self.so_far
        if isinstance(outcome, Usage):
            self.estimated += outcome.estimated_tokens
            answers, tokens = (
                answers + 1,
                tokens + outcome.prompt_tokens + outcome.completion_tokens,
            )
        self.so_far = Spending(answers, tokens, unanswered + (1 if outcome == "asked" else -1))
        if self._file is None:
            self._file = self._path.open("ab", buffering=0)
        spent = [*self.so_far, self.estimated] if self.estimated else self.so_far
        line = f"{json.dumps(spent)}\n".encode()
        if self._file.write(line) < len(line):
            self._file.truncate(self._bytes)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        self._bytes += len(line)


def _read_last_line(file: Path) -> tuple[Spending, int, int]:
    """Return the last whole line of a log, zeros without one: the spending, the estimated tokens,
    and its end in bytes.

    A torn line after it is ignored. A fourth number is there if the server does not count all
    tokens.
    """
    with file.open("rb") as log:
        end = log.seek(0, os.SEEK_END)
        start = log.seek(max(0, end - 64 * _LONGEST_LINE))
        tail = log.read()
    while (stop := tail.rfind(b"\n")) >= 0:
        begin = tail.rfind(b"\n", 0, stop) + 1
        try:
            answers, tokens, unanswered, *estimated = map(int, parse_json(tail[begin:stop]))
            return Spending(answers, tokens, unanswered), sum(estimated), start + stop + 1
        except (ValueError, TypeError):
            tail = tail[:begin]
            if not begin:
                break
    return Spending(), 0, 0


@dataclass(frozen=True, slots=True)
class RetryMark:
    """Failed rows that are to be asked again: they count as missing until a later line has them."""

    pair_ids: tuple[str, ...]


Entry = FinishedRow | RetryMark


def calls_tokens(calls: tuple[Call, ...], *, spent: bool) -> int:
    """Return prompt and completion tokens of calls; `spent`: without cached answers."""
    return sum(
        call.prompt_tokens + call.completion_tokens for call in calls if not (spent and call.cached)
    )


def encode_entry(entry: Entry, scrub: Callable[[str], str] = str) -> bytes:
    """Return one line of a journal, its text passed through `scrub`.

    Raise InputError for a number that is not finite or not in its range, a lone surrogate, and a
    value that is not JSON.
    """
    if not isinstance(entry, RetryMark):
        _check(entry)
    try:
        text = json.dumps(
            {"v": VERSION, **_as_json(entry)},
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        )
        return f"{scrub(text)}\n".encode()
    except (ValueError, TypeError, RecursionError) as error:  # also UnicodeEncodeError
        where = "rows to ask again" if isinstance(entry, RetryMark) else f"row {entry.pair_id!r}"
        raise InputError(
            f"{where}: cannot be written down ({error}), expected plain data of finite numbers"
        ) from error


def decode_entry(line: bytes) -> Entry:
    """Return the entry of a line. Raise InputError if it is not an entry, or of another version."""
    try:
        values = _parse(line)
        if values["v"] != VERSION:
            raise InputError(
                f"journal: a line of version {values['v']}, expected {VERSION}; update PerturbDesk"
                " to read it"
            )
        if "again" in values:
            return RetryMark(tuple(values["again"]))
        content = values["failed"] if "failed" in values else values["row"]
        calls = tuple(record_from_json(Call, call) for call in content["calls"])
        if "failed" in values:
            return Failed(**{**content, "calls": calls})
        return RowResult(
            record_from_json(Prediction, content["prediction"]),
            tuple(TraceEvent(*event) for event in content["events"]),
            tuple(record_from_json(Evidence, item) for item in content["evidence"]),
            calls,
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"journal: a line that cannot be read ({line[:60]!r}…: {error}), expected a row"
        ) from error


def _parse(line: bytes) -> Any:
    """Return the value of a line of JSON, three times as fast as Python's json.

    That reads what the fast reader cannot: nesting deeper than 200, and errors, for their message.
    Raise ValueError.
    """
    try:
        return jiter.from_json(line, cache_mode="keys")
    except ValueError:
        return parse_json(line)


@cache
def _numbers() -> list[Column]:
    """Return the columns of a prediction that hold a number."""
    columns = TABLES["prediction"].columns_of(Prediction)
    return [column for column in columns if column.kind in ("share", "count")]


def _check(row: FinishedRow) -> None:
    """Raise InputError for numbers outside the range of the store's columns."""
    if isinstance(row, RowResult):
        is_reading = row.prediction.p_source == "none"
        for column in _numbers():
            value = getattr(row.prediction, column.name)
            if is_reading and column.kind == "share":
                if value is not None:
                    raise InputError(
                        f"row {row.pair_id!r}: {column.name} is {value}, expected none"
                        " in a row of a reading"
                    )
                continue
            if not (column.missing == "allowed" if value is None else 0 <= value <= column.largest):
                found = (
                    f"{column.name} is {value}"
                    if column.kind == "share"
                    else f"{value:,} {column.name.replace('_', ' ')}"
                )
                raise InputError(f"row {row.pair_id!r}: {found}, expected 0 to {column.largest:,}")
        total = 0.0 if is_reading else row.prediction.prediction_up + row.prediction.prediction_down
        if total > 1 + SUM_TOLERANCE:
            raise InputError(
                f"row {row.pair_id!r}: up and down sum to {total:g}, expected at most 1"
            )
        if len(row.events) > MOST_EVENTS:
            raise InputError(
                f"row {row.pair_id!r}: {len(row.events):,} events, expected at most {MOST_EVENTS:,}"
            )
    tokens = calls_tokens(row.calls, spent=False)
    if not 0 <= tokens <= MOST_TOKENS:
        raise InputError(
            f"row {row.pair_id!r}: calls of {tokens:,} tokens, expected 0 to {MOST_TOKENS:,}"
        )


def _as_json(entry: Entry) -> JsonObject:
    if isinstance(entry, RetryMark):
        return {"again": list(entry.pair_ids)}
    calls = [record_as_json(call) for call in entry.calls]
    if isinstance(entry, Failed):
        return {
            "failed": {
                "pair_id": entry.pair_id,
                "kind": entry.kind,
                "message": entry.message,
                "calls": calls,
            }
        }
    return {
        "row": {
            "prediction": record_as_json(entry.prediction),
            "events": [record_values(event) for event in entry.events],
            "evidence": [record_as_json(item) for item in entry.evidence],
            "calls": calls,
        }
    }
