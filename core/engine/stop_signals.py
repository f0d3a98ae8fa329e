"""Lets SIGTERM and Ctrl-C end a worker cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

from core.engine.run_state import Ending


@contextlib.contextmanager
def stop_on_signals(stop: Callable[[Ending, str], object]) -> Iterator[None]:
    """Calls `stop` for SIGTERM and SIGINT while the block lasts; only a main thread receives them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        loop.add_signal_handler(number, stop, "interrupted", f"received {number.name}")
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)  # of the job that the run is part of
