"""Hears the events of a watched row in a thread."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping

from core.runs.row_watch import Watcher


def listen(
    watcher: Watcher, hear: Callable[[Mapping[str, object]], object], every_s: float = 0.03
) -> Callable[[], None]:
    """Read a watcher's events in a thread, and pass each on; return a function that ends it once
    all are read."""
    is_over = threading.Event()

    def read_on() -> None:
        while True:
            last = is_over.wait(every_s)
            with contextlib.suppress(OSError):
                watcher.renew()
            while events := watcher.read():
                for event in events:
                    hear(event)
            if last:
                watcher.close()
                return

    thread = threading.Thread(target=read_on, name="watcher", daemon=True)
    thread.start()

    def end() -> None:
        is_over.set()
        thread.join()

    return end
