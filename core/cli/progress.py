"""The progress of a slow command on standard error, with or without a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from core.cli.base import is_watched, say

FIRST_S = 3.0  # before the first line, so that a command that fails at once says that alone
EVERY_S = 10.0  # between two lines


@contextmanager
def working(what: str) -> Iterator[Callable[[str], None]]:
    """Show the current step during the block; call the yielded function with each next step.

    A person at a terminal sees each step as it begins. Plain output gets a line after FIRST_S
    seconds and then every EVERY_S, with the step that is on and the seconds since the block began.
    """
    begun, ended, steps = time.monotonic(), threading.Event(), [what]

    def step(text: str) -> None:
        steps.append(text)
        if is_watched():
            say(text)

    def repeat() -> None:
        wait_s = FIRST_S
        while not ended.wait(wait_s):
            say(f"{steps[-1]} … {time.monotonic() - begun:.0f} s")
            wait_s = EVERY_S

    reporter = threading.Thread(target=repeat, name="progress", daemon=True)
    reporter.start()
    try:
        yield step
    finally:
        ended.set()
        reporter.join()
