"""What a worker tells of itself while it works: its log, its beats, and the store's copy of its journal."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import datetime

from core.engine.ingest import ingest_journal
from core.engine.journal import Progress, RunFolder
from core.engine.run_state import Counts, Ending, State, write_heartbeat
from core.errors import NotFound, StoreBusy
from core.store import Store

_REST = 10  # the store is left alone for at least so many times as long as a fold took


class RunReporter:
    """The account that a worker gives of a run of `total` rows.

    state: what it is doing now. missing: rows that were not finished when it began. scrub: takes secrets out of a text.
    """

    def __init__(self, folder: RunFolder, store: Store, progress: Progress, total: int, scrub: Callable[[str], str]) -> None:
        self.state: State = "running"
        self.missing = total - len(progress.finished)
        self._folder, self._store, self._progress, self._total, self._scrub = folder, store, progress, total, scrub
        self._begun_at = time.time()

    @property
    def counts(self) -> Counts:
        """How far it is."""
        return Counts.of(self._progress)

    def say(self, text: str) -> None:
        """Add to the log."""
        with self._folder.log.open("a", encoding="utf-8", errors="replace") as log:
            log.write(f"{datetime.now():%Y-%m-%d %H:%M:%S} {self._scrub(text)}\n")

    def enter(self, state: State) -> None:
        """Be in a state from now on; where it is another, that is said at once."""
        if state != self.state:
            self.state = state
            self.say(state)
            self.beat()

    def beat(self) -> None:
        """Say that the worker lives, and how far it is."""
        rows = len(self._progress.finished) - (self._total - self.missing)
        seconds = time.time() - self._begun_at
        write_heartbeat(
            self._folder,
            self.state,
            self.counts,
            self._total,
            size=self._progress.bytes,
            begun_at=self._begun_at,
            rows_per_s=rows / seconds if rows > 0 and seconds > 0 else None,
        )

    async def fold_until(self, over: asyncio.Event, every_s: float) -> None:
        """Keep the store up to date until it is over; while somebody else holds the store, the journal is enough.

        Large tables take longer to close, so the store is left alone for longer then. Raises NotFound where the store has no
        such run any more.
        """
        folded: tuple[int, State] = (0, "running")
        took_s = 0.0
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), max(every_s, _REST * took_s))
                return
            present = (self._progress.bytes, self.state)
            if present == folded:
                continue
            start = time.monotonic()
            try:
                await asyncio.to_thread(ingest_journal, self._store, self._folder, self.state)
                folded = present
            except StoreBusy as error:
                self.say(str(error))
            took_s = time.monotonic() - start

    async def fold_at_last(self, ending: Ending, cause: str) -> None:
        """Bring the store up to date with how the work ended; what cannot be is left for who folds next."""
        try:
            await asyncio.to_thread(ingest_journal, self._store, self._folder, ending, cause)
        except (StoreBusy, NotFound) as error:
            self.say(f"not in the store yet: {error}")
