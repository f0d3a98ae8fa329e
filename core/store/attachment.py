"""The store's file attached to an open connection: by one writer, or by all readers of this process
together.

After the last reader the file stays attached, without DuckDB's lock on it, so that the next reader
need not read the catalogue again: it takes the lock and checks whether the file has changed.
Writers may use the file meanwhile; other code in this process may open it once it is released. Also
the file of a store: a DuckDB restricted to its folder, and faults in the file or its log, both of
which are left unchanged.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import duckdb

from core.base.errors import StoreBusy, StoreDamaged, SystemFailure
from core.base.file_io import read_head
from core.base.log import LOGGER
from core.base.system_errors import explain, explain_text
from core.base.texts import count_text

_MAGIC = slice(8, 12)  # DuckDB writes "DUCK" behind the checksum of its first block


Mode = Literal["READ_ONLY", "READ_WRITE"]
FileStat = tuple[int, int, int, int] | None
FileState = tuple[FileStat, FileStat, bytes] | None
# the file's headers, before its first block; DuckDB counts its checkpoints in them
HEADERS_BYTES = 3 * 4096
_STORE_ID = slice(0x7C, 0x8C)  # in those headers; a log says whose it is
_COUNTERS = 4096 + 8, 8192 + 8  # in either header: how many checkpoints were made
# what a log of DuckDB 2 begins with: an entry of numbered fields, here its kind and version
_LOG_BEGINS = bytes.fromhex("6400 62 6500 02")
# a commit in a log, behind the size of its entry: checksum and content
_COMMIT = bytes.fromhex("e7fe7d722fed3d5e 640064ffff")
_ENTRY_HEAD = 16  # bytes: size and checksum
_KEPT_S = 0.3  # how long an attachment is used again: what it has read is memory of the process
# what DuckDB says of a file that this process has attached already
_ATTACHED_HERE = "Unique file handle conflict"
_ALL: weakref.WeakSet[Attachment] = weakref.WeakSet()  # of this process
_HELD_BY = re.compile(r"lock is held in (.+?) \(PID (\d+)\)")


class Attachment:
    """One database file as `desk` on a connection; see the module. `timeout_s`: how long it waits
    for a program that opened the file past our lock, as a notebook would; then StoreBusy.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, file: Path, timeout_s: float) -> None:
        self.connection = connection
        self.file = file
        self.timeout_s = timeout_s
        self.recovered = ""  # what was found in the log, as `check_log` says it
        self._mutex = threading.RLock()
        self._readers = 0
        self._kept: _KeptFile | None = None
        self._timer: threading.Timer | None = None
        _ALL.add(self)

    @contextmanager
    def shared(self) -> Iterator[None]:
        """The attachment that all readers of this process share."""
        with self._mutex:
            kept = self._kept
            if self._readers == 0 and not (
                kept is not None and kept.take_lock() and kept.is_unchanged()
            ):
                self.let_go()
                self._attach("READ_ONLY")
                self._kept = _KeptFile(self.file)
                self._check_log(self._kept)
                self._timer = threading.Timer(_KEPT_S, self.let_go)
                self._timer.daemon = True
                self._timer.start()
            self._readers += 1
        try:
            yield
        finally:
            with self._mutex:
                self._readers -= 1
                if self._readers == 0 and self._kept is not None and not self._kept.release_lock():
                    self.let_go()

    @contextmanager
    def alone(self, file: Path | None = None) -> Iterator[None]:
        """The file, or another file, attached by the holder of the write lock."""
        if file is None and log_of(self.file).exists():
            with self.shared():  # which checks the log, before a writer deletes it
                pass
        self.let_go()
        self._attach("READ_WRITE", file)
        try:
            yield
        finally:
            try:
                self.connection.execute("DETACH desk")
            except duckdb.Error as error:
                # What was committed stays in the log beside the file, which is whole: no reason to
                # call the change a failure.
                LOGGER.warning("%s: closed, but not tidied up: %s", self.file, first_line(error))

    def error_of(self, error: duckdb.Error) -> SystemFailure | StoreDamaged:
        """Return DuckDB's error about the file or the disk below it."""
        return explain_text(error, self.file) or damage_error(self.file, error)

    def let_go(self) -> None:
        """Detach what readers left attached, if anything; while some read, the last of them
        does."""
        with self._mutex:
            if self._readers == 0 and self._kept is not None:
                if self._timer is not None:
                    self._timer.cancel()
                self._kept.close()
                self._kept = None
                self.connection.execute("DETACH desk")

    def end(self) -> None:
        """Release the file, and wait until no timer uses the connection."""
        self.let_go()
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None

    def _attach(self, mode: Mode, file: Path | None = None) -> None:
        refuse_foreign(self.file)
        began = time.monotonic()
        while True:
            try:
                self.connection.execute(
                    f"ATTACH {quote_path(file or self.file)} AS desk (TYPE duckdb, {mode})"
                )
                return
            except duckdb.Error as error:
                held, is_here = _HELD_BY.search(str(error)), _ATTACHED_HERE in str(error)
                if is_here:  # by another store of this process, whose reader or timer detaches it
                    let_go(self.file)
                elif not held:
                    raise self.error_of(error) from error
                if time.monotonic() > began + self.timeout_s:
                    holder = f"process {held[2]} ({held[1]})" if held else "this process"
                    raise StoreBusy(
                        f"{self.file}: held for more than {self.timeout_s:g} s by {holder}, which"
                        " opened it directly. Close it there and try again"
                    ) from error
                time.sleep(0.005 if is_here else 0.05)

    def _check_log(self, kept: _KeptFile) -> None:
        """Note what of the log was recovered. Raise StoreDamaged, with nothing attached, if changes
        would be lost. Call when the file is attached: no other program writes to it then.
        """
        try:
            recovered = check_log(self.file, kept.headers)
        except (StoreDamaged, SystemFailure):
            self.let_go()
            raise
        if recovered and recovered != self.recovered:
            self.recovered = recovered
            LOGGER.warning("%s", recovered)

    @property
    def is_kept(self) -> bool:
        """Whether the file stays attached without readers."""
        return self._kept is not None and self._readers == 0


class _KeptFile:
    """A file that DuckDB has attached for reading, and its state then; a file that cannot be opened
    is never stored.

    The lock is of this process, as DuckDB takes it (`fcntl`): whichever of the two opened the file,
    it is taken once.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._until = time.monotonic() + _KEPT_S
        self._descriptor: int | None = None
        self._state: FileState = None
        with suppress(OSError):
            self._descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
            self._close = weakref.finalize(self, os.close, self._descriptor)
            self._state = self._read_state()

    @property
    def headers(self) -> bytes:
        """The headers of the file; b"" if it could not be opened."""
        return self._state[2] if self._state is not None else b""

    def take_lock(self) -> bool:
        """Lock the file against writers; whether that was possible at once."""
        if self._descriptor is None:
            return False
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def release_lock(self) -> bool:
        """Let writers have the file; whether it can be used again."""
        if self._state is None or self._descriptor is None or time.monotonic() > self._until:
            return False
        try:
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN)
        except OSError:
            return False
        return True

    def is_unchanged(self) -> bool:
        """Return whether the file is in its place and nothing was committed to it since. Call only
        under the lock."""
        try:
            return self._state == self._read_state()
        except OSError:
            return False

    def close(self) -> None:
        if self._descriptor is not None:
            self._close()

    def _read_state(self) -> FileState:
        assert self._descriptor is not None
        return (
            file_stat(self.file),
            file_stat(log_of(self.file)),
            os.pread(self._descriptor, HEADERS_BYTES, 0),
        )


def file_stat(file: Path) -> FileStat:
    """Return device, inode, size and time of a file in nanoseconds; None without one."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return None
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def let_go(file: Path) -> None:
    """Detach a file that stores of this process have attached, for code that opens it directly."""
    for attachment in list(_ALL):
        if attachment.file == file:
            attachment.let_go()


@atexit.register
def _let_all_go() -> None:
    """Leave no timer at work in DuckDB when the process ends, and nothing that it would call
    leaked."""
    for attachment in list(_ALL):
        attachment.end()


def closed_connection(
    folder: Path, scratch: Path, memory_mb: int, *more: Path
) -> duckdb.DuckDBPyConnection:
    """Return an in-memory connection that can reach these folders and nothing else: no network, no
    extensions, no other file."""
    connection = duckdb.connect(":memory:")
    allowed = ", ".join(quote_path(f"{path}/") for path in (folder, scratch, *more))
    for setting in (
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "python_enable_replacements = false",
        # DuckDB draws one on standard output where it takes a process for an interactive one
        "enable_progress_bar = false",
        f"temp_directory = {quote_path(scratch / 'duckdb')}",
        f"memory_limit = '{memory_mb}MB'",
        # otherwise freed memory stays with the process: 200 MB after a large reading
        "allocator_background_threads = true",
        f"allowed_directories = [{allowed}]",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    return connection


def quote_path(path: Path | str) -> str:
    """Return a path as an SQL string."""
    return "'" + str(path).replace("'", "''") + "'"


def first_line(error: object) -> str:
    return str(error).strip().splitlines()[0]


def log_of(file: Path) -> Path:
    """Return the log beside a store, with commits that are not in the main file yet."""
    return file.with_name(file.name + ".wal")


def check_log(file: Path, headers: bytes) -> str:
    """Return in words what in a store's log is no whole change, "" if nothing is or there is no
    log. headers: of the store's main file.

    Raise StoreDamaged if DuckDB would pass over changes that were committed, and delete the log
    with the next one: where the log does not begin as this store's, or a commit lies behind a place
    at which reading ends.
    """
    log = log_of(file)
    try:
        content = log.read_bytes()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise explain(error, log) from error
    if not content:
        return ""
    heads = list(_log_heads(headers))
    head = next((each for each in heads if content[: len(each)] == each[: len(content)]), None)
    if head is None:
        raise damage_error(file, "The WAL file does not begin as the log of this store does.")
    at = min(len(head), len(content))
    while size := int.from_bytes(content[at : at + 8], "little"):
        if at + _ENTRY_HEAD + size > len(content):
            break
        at += _ENTRY_HEAD + size
    if _COMMIT in content[at:]:
        raise damage_error(file, f"The WAL file holds changes behind byte {at:,}, where it breaks.")
    whole = content.rfind(_COMMIT)
    rest = len(content) - (len(head) if whole < 0 else whole + len(_COMMIT))
    if rest <= 0:
        return ""
    return (
        f"{log}: {count_text(content.count(_COMMIT), 'change')} recovered; its last {rest:,} bytes"
        " are no whole change, as after a kill in the middle of one, and are left out"
    )


def _log_heads(headers: bytes) -> Iterator[bytes]:
    """Yield the first bytes that the log of a store with these headers may have."""
    identity = headers[_STORE_ID]
    if not any(identity):  # a store of DuckDB 1.2 or earlier
        yield _LOG_BEGINS + b"\xff\xff"
        return
    checkpoints = max(int.from_bytes(headers[at : at + 8], "little") for at in _COUNTERS)
    # A log that a checkpoint has made superfluous, and that was not deleted yet, has one less.
    for count in (checkpoints, max(checkpoints - 1, 0)):
        numbers = map(_encode, (len(identity), *identity))
        yield _LOG_BEGINS + b"f\0" + b"".join(numbers) + b"g\0" + _encode(count) + b"\xff\xff"


def _encode(number: int) -> bytes:
    """Return a number as logs have them (LEB128: seven bits a byte, the lowest first)."""
    high, low = number >> 7, number & 0x7F
    return bytes([low | 0x80]) + _encode(high) if high else bytes([low])


def damage_error(file: Path, reason: object) -> StoreDamaged:
    """Return the error for a store that DuckDB cannot read, or whose log it cannot."""
    if "WAL file" in str(reason):
        return StoreDamaged(
            f"{log_of(file)}: cannot be read, and is left as it is: {first_line(reason)} It alone"
            " has the last changes. Restore the store from a backup, or move this log away to open"
            " the store without them"
        )
    return StoreDamaged(
        f"{file}: cannot be read, and is left as it is: {first_line(reason)} Expected a whole"
        " PerturbDesk store. Restore it from a backup, or move it away to start anew"
    )


def refuse_foreign(file: Path) -> None:
    """Raise StoreDamaged unless the first bytes are DuckDB's: DuckDB itself would open some other
    formats, too."""
    try:
        head = read_head(file, 16)
    except FileNotFoundError:
        return
    except OSError as error:
        raise explain(error, file) from error
    if head[_MAGIC] != b"DUCK":
        raise StoreDamaged(
            f"{file}: not a DuckDB file ({file.stat().st_size} bytes, begins with {head[:12]!r}), "
            "and is left as it is. Move it away to start anew"
        )
