"""Lets others watch a row while its worker predicts it, through files in the run's folder.

Whoever watches puts the marker `any` into watch/ and renews it. Beside it the worker writes
any.jsonl: the events of the row that began last (`core.methods.row_feed`) after one of kind `row`
with the row's id; the last is of kind `ended`. Then the file is deleted, and watchers that have it
open read it to its end. An expired marker is deleted with the file. Without a marker there is no
such folder, and the worker only checks for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

from core.base.file_io import replace_file
from core.base.row_schema import record_as_json
from core.base.texts import parse_json
from core.base.types import Evidence, Failed, FinishedRow, JsonObject, Pair
from core.methods.row_feed import Event, RowFeed
from core.runs.run_folder import RunFolder

MARKER = "any"
EVENTS = "any.jsonl"
FRESH_S = 5.0  # an older marker has expired
MAX_BYTES = 128 << 20  # of the events of a row; a quarter of a million words take a third of it
_MOST_READ = 16 << 20  # at a time, and more than any event has


@dataclass(slots=True)
class _Stream:
    """The file that the events of one row go to. n_bytes: in it."""

    feed: RowFeed
    path: Path
    file: FileIO
    scrub: Callable[[str], str]
    n_bytes: int = 0

    def write(self, event: Event) -> None:
        """Append an event. Events that cannot be written are dropped, so that watching cannot harm
        the run.

        So are events beyond the size limit of the file, except the end of the row.
        """
        with contextlib.suppress(OSError, ValueError):
            # the blank line ends what a full disk cut off
            line = f"\n{self.scrub(json.dumps(event, default=_plain))}\n".encode()
            if self.n_bytes + len(line) <= MAX_BYTES or event["kind"] == "ended":
                self.n_bytes += self.file.write(line)

    def close(self) -> None:
        self.feed.detach(self.write)
        with contextlib.suppress(OSError):
            self.file.close()
            self.path.unlink(missing_ok=True)


def _plain(value: object) -> object:
    return record_as_json(value) if isinstance(value, Evidence) else str(value)


class RowWatch:
    """The rows that a worker predicts now, and the one of them that is watched."""

    def __init__(self, folder: RunFolder, scrub: Callable[[str], str]) -> None:
        self._folder, self._scrub = folder.watch, scrub
        self._feeds: dict[str, RowFeed] = {}
        self._stream: _Stream | None = None
        self._is_wanted = False
        with contextlib.suppress(OSError):
            (self._folder / EVENTS).unlink(missing_ok=True)  # of a worker that was killed

    @property
    def in_flight(self) -> int:
        """The number of rows being predicted now."""
        return len(self._feeds)

    async def follow(
        self, pair: Pair, predict: Callable[[RowFeed], Awaitable[FinishedRow | None]]
    ) -> FinishedRow | None:
        """Predict a row with a feed for its watchers; None for a row that was given back."""
        feed = self._feeds[pair.pair_id] = RowFeed(pair)
        self._attach()
        row: FinishedRow | None = None
        try:
            row = await predict(feed)
            return row
        finally:
            del self._feeds[pair.pair_id]
            if self._stream is not None and self._stream.feed is feed:
                feed.add("ended", **_last_event(row))
                self._close_stream()

    def look(self) -> None:
        """Write the events of a row if somebody watches, and stop if nobody does."""
        if not self._is_wanted and not self._folder.is_dir():
            return
        with contextlib.suppress(OSError):
            self._is_wanted = self._has_marker()
        if self._is_wanted:
            self._attach()
        else:
            self._close_stream()
            with contextlib.suppress(OSError):
                self._folder.rmdir()

    def close(self) -> None:
        """Stop, and delete the folder, so that no row can be watched."""
        self._close_stream()
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                path.unlink()
            self._folder.rmdir()

    def _has_marker(self) -> bool:
        """Return whether there is a renewed marker; delete an expired one."""
        marker = self._folder / MARKER
        try:
            age_s = time.time() - marker.stat().st_mtime
        except FileNotFoundError:
            return False
        if abs(age_s) <= FRESH_S:  # one from the future is from before the clock was set back
            return True
        marker.unlink(missing_ok=True)
        return False

    def _attach(self) -> None:
        """Begin to write the events of the row that began last, if somebody watches and no row is
        watched yet."""
        feed = next(reversed(self._feeds.values()), None)
        if not self._is_wanted or self._stream is not None or feed is None:
            return
        path = self._folder / EVENTS
        try:
            stream = self._stream = _Stream(feed, path, path.open("wb", buffering=0), self._scrub)
        except OSError:
            return
        pair = feed.pair
        stream.write(
            {
                "kind": "row",
                "at": time.time(),
                "pair_id": pair.pair_id,
                "pert": pair.pert,
                "gene": pair.gene,
            }
        )
        feed.attach(stream.write)

    def _close_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _last_event(row: FinishedRow | None) -> JsonObject:
    """Return the last event of a row; None for an abandoned row."""
    if row is None:
        return {"error": "the work on this row was ended", "given_up": True}
    if isinstance(row, Failed):
        return {"error": f"{row.kind}: {row.message}"}
    p = row.prediction
    numbers = {
        "p_de": p.p_de,
        "p_up_given_de": p.p_up_given_de,
        "up": p.prediction_up,
        "down": p.prediction_down,
    }
    return {"error": "", **numbers, "flags": list(p.flags), "tokens": p.tokens}


class Watcher:
    """A watcher of the row of a run that is predicted now: requests its events and reads them as
    they are written.

    After `ended` it reads nothing more.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._events = folder.watch / EVENTS
        self._file: FileIO | None = None
        self._rest = b""
        self._renewed_at = 0.0
        self.ended = False

    def renew(self) -> None:
        """Ask for the events, at most once a second, until they or the run have ended. Raise
        OSError if the folder cannot be written."""
        if self.ended or time.monotonic() - self._renewed_at < 1.0 or self._folder.done.exists():
            return
        self._folder.watch.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # the worker took the folder away just now
            replace_file(self._folder.watch / MARKER, b"")
            self._renewed_at = time.monotonic()

    def read(self) -> list[Mapping[str, Any]]:
        """Return the new events, only the first if there are very many.

        They start again, with one of kind `row`, if the worker closed its file because the marker
        had expired.
        """
        if self.ended:
            return []
        if self._file is None:
            try:
                self._file = self._events.open("rb", buffering=0)
            except FileNotFoundError:
                return []
        new = self._file.read(_MOST_READ)
        if not new and self._is_replaced(self._file):
            self.close()
            return self.read()
        *lines, self._rest = (self._rest + new).split(b"\n")
        events = [event for line in lines if (event := _read_event(line)) is not None]
        if any(event["kind"] == "ended" for event in events):
            self.ended = True
            self.close()
        return events

    def _is_replaced(self, file: FileIO) -> bool:
        with contextlib.suppress(FileNotFoundError):
            return not os.path.samestat(os.fstat(file.fileno()), self._events.stat())
        return False

    def close(self) -> None:
        """Read no further."""
        if self._file is not None:
            self._file.close()
        self._file, self._rest = None, b""


def _read_event(line: bytes) -> Mapping[str, Any] | None:
    """Return the event of a line, None for a line truncated by a full disk."""
    with contextlib.suppress(ValueError):
        event = parse_json(line)
        return event if isinstance(event, dict) else None
    return None
