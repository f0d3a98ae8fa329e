"""What a worker reports while it works: its log, its heartbeat, and the store's copy of its journal."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import datetime

from core.engine.ingest import ingest_journal
from core.engine.journal import Progress, RunFolder
from core.engine.run_state import Counts, Ending, Heartbeat, State, write_heartbeat
from core.errors import NotFound, StoreBusy
from core.store import Store

_REST = 10  # the store is left alone for at least so many times as long as an ingest took


class RunReporter:
    """Reports on the work on a run of `total` rows.

    state: of the run now. missing: how many rows were not finished when the work began. scrub: takes secrets out of a text.
    """

    def __init__(self, folder: RunFolder, store: Store, progress: Progress, total: int, scrub: Callable[[str], str]) -> None:
        self.state: State = "running"
        self.missing = total - len(progress.finished)
        self._folder, self._store, self._progress, self._total, self._scrub = folder, store, progress, total, scrub
        self._begun_at = time.time()

    @property
    def counts(self) -> Counts:
        """How many rows are finished, and what they cost."""
        return Counts.of(self._progress)

    def log(self, text: str) -> None:
        """Appends a line to the run's log, with the time and without secrets."""
        with self._folder.log.open("a", encoding="utf-8", errors="replace") as log:
            log.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {self._scrub(text)}\n")

    def enter_state(self, state: State) -> None:
        """Sets the state; if it changes, logs it and writes a heartbeat at once."""
        if state != self.state:
            self.state = state
            self.log(state)
            self.write_heartbeat()

    def write_heartbeat(self) -> None:
        """Records that the worker lives, in which state, and how many rows are finished."""
        rows = len(self._progress.finished) - (self._total - self.missing)
        seconds = time.time() - self._begun_at
        rate = rows / seconds if rows > 0 and seconds > 0 else None
        heartbeat = Heartbeat(self.state, self.counts, self._total, self._progress.bytes, self._begun_at, rate)
        write_heartbeat(self._folder, heartbeat)

    async def ingest_until(self, stop: asyncio.Event, every_s: float) -> None:
        """Brings the store up to date every so many seconds until `stop` is set; if the store is busy, the next time will do.

        Large tables take longer to write, so the store is left alone for longer then. Raises NotFound if the store has no such
        run any more.
        """
        ingested: tuple[int, State] = (0, "running")
        took_s = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), max(every_s, _REST * took_s))
                return
            present = (self._progress.bytes, self.state)
            if present == ingested:
                continue
            start = time.monotonic()
            try:
                await asyncio.to_thread(ingest_journal, self._store, self._folder, self.state)
                ingested = present
            except StoreBusy as error:
                self.log(str(error))
            took_s = time.monotonic() - start

    async def ingest_ending(self, ending: Ending, cause: str) -> None:
        """Brings the store up to date with how the work ended; logs it if that fails, and leaves it to the next ingest."""
        try:
            await asyncio.to_thread(ingest_journal, self._store, self._folder, ending, cause)
        except (StoreBusy, NotFound) as error:
            self.log(f"not in the store yet: {error}")
