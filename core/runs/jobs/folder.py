"""The folder of a job: the files that its process shares with those who watch it.

job.json    what is done, and by which command; of jobs that are started as a command of their own
control     run, pause or cancel
heartbeat   which process is on it, and how far it is; rewritten while the process lives
done.json   how the job ended; written last, and removed when a process is started again
log.txt     what its process said
worker.lock held by the process that is on it
start.lock  held by who starts that process
resume.lock held by who decides whether to resume the job, and does
reserve     space that the process keeps, so that it can record its ending on a full disk
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Any, Final, Literal

from core.base.errors import InputError
from core.base.file_io import replace_file
from core.base.texts import parse_json
from core.base.types import JsonObject

Command = Literal["run", "pause", "cancel"]
RESERVE_BYTES: Final = 1 << 16
OF_PROCESS: Final = (  # what is made again
    "heartbeat",
    "control",
    "worker.lock",
    "start.lock",
    "resume.lock",
    "log.txt",
    "reserve",
)
_COMMANDS: tuple[Command, ...] = ("run", "pause", "cancel")
Kind = type | UnionType  # of a value
NO_KINDS: Final[Mapping[str, Kind]] = MappingProxyType({})
_MISSING = object()
_LONGEST_COMMAND = 32  # bytes that are read of a control file
_STARTS = " a process starts"  # ends a line of a log
_LONGEST_LINE = 400  # bytes, of a log, on average


class FileOf:
    """A file in the folder of a job, by its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: JobFolder, _kind: type[JobFolder]) -> Path:
        return folder.path / self._name


@dataclass(frozen=True, slots=True)
class JobFolder:
    """The folder that holds a job's files."""

    path: Path

    @property
    def key(self) -> str:
        """The job's id."""
        return self.path.name

    about = FileOf("job.json")
    log = FileOf("log.txt")
    heartbeat = FileOf("heartbeat")
    done = FileOf("done.json")
    reserve = FileOf("reserve")
    control = FileOf("control")
    lock = FileOf("worker.lock")
    start_lock = FileOf("start.lock")
    resume_lock = FileOf("resume.lock")

    @property
    def first_signs(self) -> tuple[Path, ...]:
        """The files that a process writes once it has started."""
        return (self.heartbeat,)

    @property
    def was_begun(self) -> bool:
        """Whether a process was requested."""
        return self.heartbeat.is_file() or self._read_control() in _COMMANDS

    def keep_reserve(self) -> None:
        """Take up some space on the disk, for `release_reserve` to give back."""
        # random bytes: a file system may compress others
        self.reserve.write_bytes(os.urandom(RESERVE_BYTES))

    def release_reserve(self) -> None:
        """Give the reserve back."""
        self.reserve.unlink(missing_ok=True)

    def command(self) -> Command:
        """Return the command for the process; "run" if the control file is missing or has another
        content."""
        text = self._read_control()
        return next((command for command in _COMMANDS if command == text), "run")

    def _read_control(self) -> str:
        """Return what the control file says; "" without one, or for a file or folder of this name
        that is not ours."""
        try:
            with self.control.open("rb") as file:
                return file.read(_LONGEST_COMMAND).decode("utf-8", "replace").strip()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
            return ""

    def set_command(self, command: Command) -> None:
        """Write what the process is to do, which it reads within a second."""
        replace_file(self.control, f"{command}\n".encode(), durable=True)


def write_json(file: Path, values: Mapping[str, Any], *, durable: bool = True) -> None:
    """Write a JSON file under a temporary name and rename it, so that it is there whole or not at
    all.

    durable: wait until it is on disk.
    """
    replace_file(
        file, json.dumps(dict(values), indent=1, allow_nan=False).encode(), durable=durable
    )


def read_json(
    file: Path, needed: Mapping[str, Kind] = NO_KINDS, other: Mapping[str, Kind] = NO_KINDS
) -> JsonObject | None:
    """Return the JSON object in a file; None without the file. Raise InputError for another
    content.

    needed, other: the types of values by key; those needed have to be there.
    """
    try:
        values = parse_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, IsADirectoryError, PermissionError) as error:
        raise InputError(f"{file}: cannot be read ({error}), expected JSON") from error
    if not isinstance(values, dict):
        raise InputError(f"{file}: holds {type(values).__name__}, expected a JSON object")
    for key, kind in {**other, **needed}.items():
        if (key in needed or key in values) and not isinstance(values.get(key, _MISSING), kind):
            raise InputError(
                f"{file}: {key} is {values.get(key, 'missing')!r:.80}, expected"
                f" {getattr(kind, '__name__', kind)}"
            )
    return values


def log_tail(folder: JobFolder, lines: int = 50) -> list[str]:
    """Return the last lines of a job's log."""
    return _tail(folder.log, lines)


def mark_start(folder: JobFolder) -> None:
    """Say in the log of an earlier process that another one starts, so that `last_line` does not
    take its words for theirs."""
    if last_line(folder.log):
        with suppress(OSError), folder.log.open("ab") as log:
            log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}{_STARTS}\n".encode())


def last_line(log: Path) -> str:
    """Return the last line of a log that says anything; "" without one since its latest process
    started."""
    return next((line.strip() for line in reversed(lines_since_start(log, 10)) if line.strip()), "")


def lines_since_start(log: Path, lines: int) -> list[str]:
    """Return the last lines of a log that the latest process wrote."""
    found = _tail(log, lines)
    starts = [i for i, line in enumerate(found, 1) if line.endswith(_STARTS)]
    return found[starts[-1] :] if starts else found


def _tail(log: Path, lines: int) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - lines * _LONGEST_LINE))
            return file.read().decode("utf-8", "replace").splitlines()[-lines:]
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        return []
