"""Lets others watch a row while its worker predicts it, through files in the run's folder.

A watcher puts a marker into watch/ and renews it: `any` for the row predicted now, or the name of one row, with its id in it.
Beside each marker the worker writes NAME.jsonl, the events of the row (`core.methods.row_feed`) after one of kind `row` with the
row's id; the last is of kind `ended`. Then the file is deleted, and watchers that have it open read it to its end. An expired
marker is deleted with its file. Without markers there is no such folder, and the worker only checks for it.
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

from core.engine.run_folder import RunFolder
from core.file_io import replace_file
from core.hashes import sha256_of
from core.methods.row_feed import Event, RowFeed
from core.row_schema import record_as_json
from core.texts import parse_json
from core.types import Evidence, Failed, Pair, RowResult

ANY = "any"
FRESH_S = 5.0  # an older marker has expired
MAX_BYTES = 128 << 20  # of the events of a row; a quarter of a million words take a third of it
_MOST_READ = 16 << 20  # at a time, and more than any event has
_EVENTS = ".jsonl"


def marker_name(pair_id: str) -> str:
    """Return the name of a row's marker; "" is any row."""
    return sha256_of(pair_id)[:16] if pair_id else ANY


@dataclass(slots=True)
class _Stream:
    """The file that the events of one row go to. n_bytes: in it. is_cut: whether its last line lacks its end."""

    feed: RowFeed
    path: Path
    file: FileIO
    scrub: Callable[[str], str]
    n_bytes: int = 0
    is_cut: bool = False

    def write(self, event: Event) -> None:
        """Append an event. Events that cannot be written are dropped, so that watching cannot harm the run.

        So are events beyond the size limit of the file, except the end of the row.
        """
        with contextlib.suppress(OSError, ValueError):
            line = f"{self.scrub(json.dumps(event, default=_plain))}\n".encode()
            line = b"\n" + line if self.is_cut else line
            if self.n_bytes + len(line) > MAX_BYTES and event["kind"] != "ended":
                return
            written = self.file.write(line)
            self.n_bytes += written
            self.is_cut = written < len(line)

    def close(self) -> None:
        self.feed.detach(self.write)
        with contextlib.suppress(OSError):
            self.file.close()
            self.path.unlink(missing_ok=True)


def _plain(value: object) -> object:
    return record_as_json(value) if isinstance(value, Evidence) else str(value)


class RowWatch:
    """The rows that a worker predicts now, and the watched ones among them."""

    def __init__(self, folder: RunFolder, scrub: Callable[[str], str]) -> None:
        self._folder, self._scrub = folder.watch, scrub
        self._feeds: dict[str, RowFeed] = {}
        self._streams: dict[str, _Stream] = {}  # name of the marker → where the events of its row go
        self._markers: dict[str, str] = {}  # name → pair id, "" for any row
        for path in self._folder.glob(f"*{_EVENTS}"):  # of a worker that was killed
            with contextlib.suppress(OSError):
                path.unlink()

    @property
    def in_flight(self) -> int:
        """The number of rows being predicted now."""
        return len(self._feeds)

    async def follow(
        self, pair: Pair, predict: Callable[[RowFeed], Awaitable[RowResult | Failed | None]]
    ) -> RowResult | Failed | None:
        """Predict a row with a feed for its watchers; None for a row that was given back."""
        feed = self._feeds[pair.pair_id] = RowFeed(pair)
        self._attach_all()
        row: RowResult | Failed | None = None
        try:
            row = await predict(feed)
            return row
        finally:
            del self._feeds[pair.pair_id]
            if feed.is_watched:
                feed.add("ended", **_last_event(row))
                for name in [name for name, stream in self._streams.items() if stream.feed is feed]:
                    self._streams.pop(name).close()

    def look(self) -> None:
        """Start a stream for each watched row, and close streams that nobody watches."""
        if not self._markers and not self._folder.is_dir():
            return
        with contextlib.suppress(OSError):
            self._markers = self._read_markers()
        for name in [name for name in self._streams if name not in self._markers]:
            self._streams.pop(name).close()
        self._attach_all()
        if not self._markers:
            with contextlib.suppress(OSError):
                self._folder.rmdir()

    def close(self) -> None:
        """Close all streams and delete the folder, so that no row can be watched."""
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                path.unlink()
            self._folder.rmdir()

    def _read_markers(self) -> dict[str, str]:
        """Return the renewed markers; delete the expired ones."""
        found: dict[str, str] = {}
        for path in self._folder.iterdir():
            if path.suffix or path.name.startswith("."):
                continue
            if abs(time.time() - path.stat().st_mtime) <= FRESH_S:  # or it is from before the clock was set back
                known = self._markers.get(path.name)
                found[path.name] = path.read_text("utf-8") if known is None else known
            else:
                path.unlink(missing_ok=True)
        return found

    def _attach_all(self) -> None:
        """Open a file for every marker that has none and whose row is predicted now; of any, the row that began last."""
        for name, pair_id in self._markers.items():
            feed = self._feeds.get(pair_id) if pair_id else next(reversed(self._feeds.values()), None)
            if name not in self._streams and feed is not None:
                self._attach(name, feed)

    def _attach(self, name: str, feed: RowFeed) -> None:
        path = self._folder / f"{name}{_EVENTS}"
        try:
            stream = self._streams[name] = _Stream(feed, path, path.open("wb", buffering=0), self._scrub)
        except OSError:
            return
        pair = feed.pair
        stream.write({"kind": "row", "at": time.time(), "pair_id": pair.pair_id, "pert": pair.pert, "gene": pair.gene})
        feed.attach(stream.write)


def _last_event(row: RowResult | Failed | None) -> dict[str, Any]:
    """Return the last event of a row; None for an abandoned row."""
    if row is None:
        return {"error": "the work on this row was ended", "given_up": True}
    if isinstance(row, Failed):
        return {"error": f"{row.kind}: {row.message}"}
    p = row.prediction
    numbers = {"p_de": p.p_de, "p_up_given_de": p.p_up_given_de, "up": p.prediction_up, "down": p.prediction_down}
    return {"error": "", **numbers, "flags": list(p.flags), "tokens": p.tokens}


class Watcher:
    """A watcher of one row of a run: requests its events and reads them as they are written.

    pair_id: "" for the row predicted now. After `ended` it reads nothing more.
    """

    def __init__(self, folder: RunFolder, pair_id: str = "") -> None:
        self._folder, self._pair_id = folder, pair_id
        self._events = folder.watch / f"{marker_name(pair_id)}{_EVENTS}"
        self._file: FileIO | None = None
        self._rest = b""
        self._renewed_at = 0.0
        self.ended = False

    @property
    def is_reading(self) -> bool:
        """Whether events of a row have arrived and the row has not ended."""
        return self._file is not None

    def renew(self) -> None:
        """Ask for the events, at most once a second, until they or the run have ended. Raise OSError if the folder cannot be
        written."""
        if self.ended or time.monotonic() - self._renewed_at < 1.0 or self._folder.done.exists():
            return
        self._folder.watch.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # the worker took the folder away just now
            replace_file(self._folder.watch / marker_name(self._pair_id), self._pair_id.encode())
            self._renewed_at = time.monotonic()

    def read(self) -> list[Mapping[str, Any]]:
        """Return the new events, only the first if there are very many.

        They start again, with one of kind `row`, if the worker closed its file because the marker had expired.
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
