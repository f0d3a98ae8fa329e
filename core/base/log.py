"""The log of a workspace: one line per event in data/desk.log, and on standard error for the app's
server.

A line holds the time (UTC), the level, who wrote it, what happened to which run or file, and an
error's type and message; the lines of a traceback follow it, indented, in the file alone. Entry
points call `configure`; until then nothing is written.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from core.base.config import Settings
from core.base.errors import InputError, StoreBusy
from core.base.net.scrubber import Scrubber

LOGGER = logging.getLogger("perturbdesk")
LOGGER.addHandler(logging.NullHandler())  # without one, warnings would go to standard error
_MAX_BYTES = 1_000_000
_BACKUP_FILES = 3  # beside the newest
_LOCK_TIMEOUT_S = 5.0
_PROBLEM = re.compile(r"\d{4}-\d\d-\d\dT[\d:]+Z (WARNING|ERROR) ")
_MISTAKES = "|".join(["InputError", *(kind.__name__ for kind in InputError.__subclasses__())])
_MISTAKE = re.compile(rf"\] failed: ({_MISTAKES}): ")
_RECORDED = "_perturbdesk_recorded"
MOST_ALIKE = 100
_alike: Counter[object] = Counter()  # written errors by kind, line of code and hour


def log_file(settings: Settings) -> Path:
    """Return where the log of a workspace lies."""
    return settings.data / "desk.log"


def configure(settings: Settings, role: str, *, console: bool = False) -> None:
    """Write events from now on to the workspace's log, and to standard error if `console`.

    role: who writes, such as "app" or a command's name. In read-only mode no file is written.
    """
    close()
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    scrub, handlers = Scrubber(settings.secrets), list[tuple[logging.Handler, bool]]()
    if console:
        handlers.append((logging.StreamHandler(sys.stderr), False))
    if not settings.read_only:
        handlers.append((_SharedRotatingFile(log_file(settings)), True))
    for handler, with_traceback in handlers:
        handler.setFormatter(_Formatter(role, scrub, with_traceback=with_traceback))
        LOGGER.addHandler(handler)


def without_secrets(text: str) -> str:
    """Return a text as the log would write it: without the secrets of the workspace whose log is
    open."""
    formatters = [
        handler.formatter
        for handler in LOGGER.handlers
        if isinstance(handler.formatter, _Formatter)
    ]
    return formatters[0].scrub(text) if formatters else text


def scrub_output(settings: Settings) -> None:
    """Take secrets out of whatever this process prints from now on, on standard output and standard
    error, also by a library's log and by the traceback of an error that nobody caught."""
    scrub = Scrubber(settings.secrets)
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, _ScrubbedStream):
            stream.scrub = scrub
            continue
        scrubbed: Any = _ScrubbedStream(stream, scrub)
        setattr(sys, name, scrubbed)
        for handler in chain.from_iterable(getattr(one, "handlers", ()) for one in loggers):
            if isinstance(handler, logging.StreamHandler) and handler.stream is stream:
                handler.setStream(scrubbed)  # a library's, from before


def close() -> None:
    """Write no more events."""
    for handler in LOGGER.handlers[:]:
        if not isinstance(handler, logging.NullHandler):
            LOGGER.removeHandler(handler)
            handler.close()


def record_error(what: str, error: BaseException) -> bool:
    """Write an error with its traceback; once, though several callers may hand it on. Return
    whether there is a log file.

    what: in which page, command, run or file it happened. A busy store is a warning, since trying
    again may help. Of errors of one kind from one line of code, a process writes MOST_ALIKE an
    hour: whoever can cause one could push all others out of the log.
    """
    if not getattr(error, _RECORDED, False):
        setattr(error, _RECORDED, True)
        # where it was raised: the end of the traceback, if it has one
        raised_at = traceback.extract_tb(error.__traceback__, limit=-1)
        place = type(error), str(raised_at), int(time.monotonic() // 3600)
        _alike[place] += 1
        if _alike[place] <= MOST_ALIKE:
            last = ", the last of this kind for an hour" if _alike[place] == MOST_ALIKE else ""
            LOGGER.log(
                logging.WARNING if isinstance(error, StoreBusy) else logging.ERROR,
                "%s%s",
                what,
                last,
                exc_info=error,
            )
    return any(
        isinstance(handler, _SharedRotatingFile) and handler.works for handler in LOGGER.handlers
    )


def last_problems(settings: Settings, limit: int = 5) -> list[str]:
    """Return the last warnings and errors in the log, oldest first, one line each; none if there is
    no log.

    What a command was given wrongly, such as a name that is not there, was said to whoever typed
    it, and is left out.
    """
    newest = log_file(settings)
    files = [file for file in (newest.with_name(f"{newest.name}.1"), newest) if file.exists()]
    lines = [line for file in files for line in file.read_text("utf-8", "replace").splitlines()]
    return [line for line in lines if _PROBLEM.match(line) and not _MISTAKE.search(line)][-limit:]


class _ScrubbedStream:
    """Standard output or standard error, without secrets."""

    def __init__(self, stream: Any, scrub: Scrubber) -> None:
        self._stream, self.scrub = stream, scrub

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        self._stream.write(self.scrub(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Formatter(logging.Formatter):
    """One line per event, and below it the traceback if `with_traceback`; secrets are replaced by
    [key]."""

    def __init__(self, role: str, scrub: Scrubber, *, with_traceback: bool = False) -> None:
        super().__init__()
        self._role = role
        self._with_traceback = with_traceback
        self.scrub = scrub

    def format(self, record: logging.LogRecord) -> str:
        parts = [f"{record.levelname} {self._role}[{os.getpid()}] {record.getMessage()}"]
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            # before its lines are joined
            parts.append(self.scrub(f"{type(error).__name__}: {error}"))
        at = datetime.fromtimestamp(record.created, UTC)
        text = " ".join(f"{at:%Y-%m-%dT%H:%M:%SZ} {': '.join(parts)}".splitlines())
        if error is not None and self._with_traceback:
            text += "".join(
                f"\n    {line}" for line in "".join(traceback.format_exception(error)).splitlines()
            )
        return self.scrub(text)


class _SharedRotatingFile(RotatingFileHandler):
    """A rotating file that several processes write. Opened for each event, under a lock, so that no
    process goes on writing to a file that another has rotated away.

    An event that cannot be written is lost: a full disk must not stop what is being logged.
    """

    def __init__(self, file: Path) -> None:
        super().__init__(
            file,
            maxBytes=_MAX_BYTES,
            backupCount=_BACKUP_FILES,
            encoding="utf-8",
            errors="replace",
            delay=True,
        )
        self.works = True  # whether the last event was written
        self._file = file
        self._file_lock = FileLock(file.with_name(file.name + ".lock"), timeout=_LOCK_TIMEOUT_S)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one event."""
        self.works = True
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file_lock:
                super().emit(record)
                stream, self.stream = self.stream, None
                if stream is not None:
                    # of what a full disk did not take; closed it is all the same
                    with suppress(OSError):
                        stream.close()
        except (OSError, Timeout):
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002
        """Print nothing, where the standard handler prints a traceback to standard error."""
        self.works = False
