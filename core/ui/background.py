"""Slow results, computed one after the other in one background thread of the server. Pages do not
wait but poll.

The latest request is computed first, once there has been no new one for a moment, so that a moving
slider starts nothing. A computation pauses while a page runs, and for a moment when a browser loads
or draws one. It is abandoned if no page polls for it and another waits.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.base import log

QUIET_S = 3.0  # since the last new request, before a computation starts
FORGOTTEN_S = 10.0  # since the last poll for a result, before its computation is abandoned
MAX_WAITING = 32  # the oldest is dropped and computed again on request
MAX_RESULTS = 256
NICENESS = 10  # of the thread: pages have priority
REST_S = 1.5  # after a page has run
# so that a computation progresses even if pages run all the time
LONGEST_PAUSE_S, LEAST_WORK_S = 10.0, 1.0
_PAUSE_S = 0.01  # between two checks whether pages run

Progress = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Result:
    """The state of a result: whether it is ready, and its value; None if the computation failed,
    see the log."""

    ready: bool
    value: Any = None


class Abandoned(Exception):
    """A computation without a waiting page was stopped."""


class Background:
    """The results of one server by their keys, and the thread that computes them while any are
    missing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._results: dict[Hashable, Result] = {}
        self._waiting: dict[Hashable, Callable[[Progress], Any]] = {}  # the last is computed next
        self._asked: dict[Hashable, float] = {}  # when each missing result was last polled
        self._current: Hashable | None = None
        self._last_request = 0.0
        self._pages_running = 0
        self._rest_until = self._work_until = 0.0
        self._thread: threading.Thread | None = None

    def ask(self, key: Hashable, compute: Callable[[Progress], Any]) -> Result:
        """Return the result of a key; queue it if it is missing. compute: gets a function to call
        often with the share done.

        It must not use objects of a page.
        """
        with self._lock:
            if key in self._results:
                return self._results[key]
            now = time.monotonic()
            if key not in self._asked:
                self._last_request = now
            self._asked[key] = now
            if key != self._current:
                self._waiting.pop(key, None)
                self._waiting[key] = compute
                while len(self._waiting) > MAX_WAITING:
                    self._forget(next(iter(self._waiting)))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="background", daemon=True)
                self._thread.start()
        return Result(ready=False)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Pause computations at their next report of progress while a page runs inside the block,
        and shortly after."""
        with self._lock:
            self._pages_running += 1
        try:
            yield
        finally:
            with self._lock:
                self._pages_running -= 1
            self.rest()

    def rest(self) -> None:
        """Pause computations at their next report of progress, for a moment: a browser loads or
        draws a page."""
        self._rest_until = time.monotonic() + REST_S

    def _forget(self, key: Hashable) -> None:
        self._waiting.pop(key, None)
        self._asked.pop(key, None)

    def _work(self) -> None:
        if sys.platform == "linux":  # on systems where a thread has its own niceness
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
        while (taken := self._take()) is not None:
            key, compute = taken
            result: Result | None
            try:
                result = Result(ready=True, value=compute(self._give_way))
            except Abandoned:
                result = None
            except Exception as error:  # noqa: BLE001
                # Log it here: the page that asked does not wait.
                log.record_error(f"in the background: {type(error).__name__}", error)
                result = Result(ready=True)
            with self._lock:
                self._current = None
                self._asked.pop(key, None)
                if result is not None:
                    self._results[key] = result
                    while len(self._results) > MAX_RESULTS:
                        self._results.pop(next(iter(self._results)))

    def _take(self) -> tuple[Hashable, Callable[[Progress], Any]] | None:
        """Return the next request, once there has been no new one for a moment; None without
        requests, which ends the thread."""
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return None
                wait_s = self._last_request + QUIET_S - time.monotonic()
                if wait_s <= 0:
                    self._current, compute = self._waiting.popitem()
                    return self._current, compute
            time.sleep(wait_s)

    def _give_way(self, _share: float) -> None:
        """Wait for pages. Raise Abandoned if the current result has not been polled for long, and
        another waits."""
        self._wait_for_pages()
        with self._lock:
            if (
                self._waiting
                and self._asked.get(self._current, 0.0) < time.monotonic() - FORGOTTEN_S
            ):
                raise Abandoned

    def _wait_for_pages(self) -> None:
        begun = time.monotonic()
        if begun < self._work_until:
            return
        while self._pages_running or time.monotonic() < self._rest_until:
            if time.monotonic() > begun + LONGEST_PAUSE_S:
                self._work_until = time.monotonic() + LEAST_WORK_S
                return
            time.sleep(_PAUSE_S)


@st.cache_resource(show_spinner=False)
def background() -> Background:
    """Return the results that this server computes in the background."""
    return Background()
