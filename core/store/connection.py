"""The gate to the store's file: many readers or one writer, over all threads and processes.

DuckDB lets one process write a file and no other even read it meanwhile, so nobody keeps it locked.
A read-write lock beside it (SQLite's, where a waiting writer stops new readers, so that it is not
starved) decides who may attach it to a held in-memory connection, which costs some milliseconds.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import duckdb
from filelock import ReadWriteLock, Timeout

from core.base.config import Settings
from core.base.errors import DeskError, InputError, StoreBusy, StoreError, StoreMemoryShort
from core.base.file_io import part_of
from core.base.log import LOGGER
from core.base.system_errors import explain, explain_text
from core.store import schema
from core.store.attachment import (
    HEADERS_BYTES,
    Attachment,
    FileStat,
    Mode,
    closed_connection,
    damage_error,
    file_stat,
    first_line,
    log_of,
)

Cursor = duckdb.DuckDBPyConnection

# of as many workspaces; each has a DuckDB of its own, which is 5 MB and nine threads or more
OPEN_STORES = 8
_SIGNS = "?\\"  # a path with them leads DuckDB to another place
_MAX_PAUSE_S = 0.03  # after a write
_SETTLES_NS = 100_000_000  # after a write
# DuckDB's advice, also where a checkpoint fails at the end of a transaction
_SHORT_OF_MEMORY = "Increasing the memory limit"


class Store:
    """One database file. `read()` and `write()` give a cursor on it; both wait at most `timeout_s`,
    then StoreBusy.

    Inside a thread a read within a read or a write uses the outer cursor; a write within a read is
    a programming error.
    """

    def __init__(
        self, file: Path, scratch: Path, timeout_s: float = 30.0, memory_mb: int = 180
    ) -> None:
        if odd := [sign for sign in _SIGNS if sign in f"{file.absolute()}{scratch.absolute()}"]:
            raise InputError(
                f"{file.absolute()}: the path of a workspace may not hold {' or '.join(odd)}, which"
                " DuckDB reads as another sign; rename the folder, or choose another"
            )
        self.file = file
        self.timeout_s = timeout_s
        self.memory_mb = memory_mb
        self._scratch = scratch
        for folder in (file.parent, scratch):
            # readers need neither; a writer says what is wrong when it writes
            with suppress(OSError):
                folder.mkdir(parents=True, exist_ok=True)
        self._holder = file.with_name(file.name + ".holder")
        self._attachment = Attachment(
            closed_connection(file.parent, scratch, memory_mb), file, timeout_s
        )
        self._of_thread = threading.local()
        self._prepared: tuple[int, int] | None = None
        self._rests_until = 0.0  # for writers of this process, in monotonic seconds

    def with_memory(self, memory_mb: int) -> Store:
        """Return the same file with another limit, to be used instead of this one. memory_mb: of
        DuckDB, in MiB."""
        self._attachment.let_go()
        return Store(self.file, self._scratch, self.timeout_s, memory_mb)

    @contextmanager
    def read(self) -> Iterator[Cursor]:
        """A cursor that sees one unchanging state of the store."""
        outer = getattr(self._of_thread, "cursor", None)
        if outer is not None:
            yield outer
            return
        self._prepare()
        with self._hold_lock("READ_ONLY"), self._attachment.shared(), self._cursor() as cursor:
            yield cursor

    @contextmanager
    def write(self) -> Iterator[Cursor]:
        """A cursor inside one transaction: committed when the block ends, rolled back when it
        raises."""
        if getattr(self._of_thread, "cursor", None) is not None:
            raise RuntimeError(
                "a write was begun inside a read or another write of the same thread"
            )
        self._prepare()
        # Readers poll for the lock: whoever writes again and again must leave gaps in which a poll
        # can succeed.
        time.sleep(max(0.0, self._rests_until - time.monotonic()))
        start = time.monotonic()
        with self._hold_lock("READ_WRITE"), self._attachment.alone(), self._cursor() as cursor:
            cursor.begin()
            try:
                yield cursor
                cursor.commit()
            except BaseException:
                with suppress(duckdb.Error):  # a commit that failed has ended the transaction
                    cursor.rollback()
                raise
        end = time.monotonic()
        self._rests_until = end + min(end - start, _MAX_PAUSE_S)

    def _prepare(self) -> None:
        """Create a missing file, refuse one of another schema; look again only when the file was
        replaced."""
        if self._prepared is not None and self._prepared == self._identity():
            return
        if self._identity() is None:
            self._create()
        with self._hold_lock("READ_ONLY"), self._attachment.shared(), self._cursor() as cursor:
            # DuckDB notices missing blocks only when it reads one; a writer would put new ones in
            # their place.
            [(blocks, block_bytes)] = cursor.execute(
                "SELECT used_blocks, block_size FROM pragma_database_size() WHERE database_name ="
                " 'desk'"
            ).fetchall()
            least = HEADERS_BYTES + blocks * block_bytes
            size = self.file.stat().st_size
            if size < least:
                raise damage_error(
                    self.file,
                    f"it has {size:,} bytes, its own count of blocks says at least {least:,}.",
                )
            schema.refuse_other(cursor, self.file)
        self._prepared = self._identity()

    def _create(self) -> None:
        """Make an empty store in a separate folder and move it here, so that a full disk or a kill
        leaves no partial store."""
        with self._hold_lock("READ_WRITE"):
            if self._identity() is not None:  # another process was faster
                return
            try:
                with part_of(self.file, is_folder=True) as folder:
                    made = folder / self.file.name
                    with self._attachment.alone(made), self._cursor() as cursor:
                        schema.create(cursor)
                        cursor.execute("CHECKPOINT desk")
                    # The log of a store that was moved away without it may have commits, and no
                    # other store may use it.
                    aside = self.file.with_name(
                        f"{self.file.name}.without-store-{time.time_ns()}.wal"
                    )
                    with suppress(FileNotFoundError):
                        log_of(self.file).replace(aside)
                        LOGGER.warning(
                            "%s: the log of a store that is no longer there, moved to %s",
                            log_of(self.file),
                            aside.name,
                        )
                    made.replace(self.file)
            except OSError as error:
                raise explain(error, self.file) from error

    @property
    def recovered(self) -> str:
        """Which changes of a process that was killed were recovered from the log, "" if the log was
        whole or there was none."""
        return self._attachment.recovered

    def state(self) -> tuple[FileStat, FileStat]:
        """Return a state that every commit changes: place, size and time of the file and of its
        log."""
        return file_stat(self.file), file_stat(log_of(self.file))

    def settled_state(self) -> tuple[Path, FileStat, FileStat] | None:
        """Return the state; None just after a change. Equal states are equal contents.

        File systems count time in steps of some milliseconds, so that a file that changed a moment
        ago may change once more without a sign.
        """
        state = self.state()
        if any(stat and abs(time.time_ns() - stat[-1]) < _SETTLES_NS for stat in state):
            return None
        return (self.file, *state)

    def _identity(self) -> tuple[int, int] | None:
        stat = file_stat(self.file)
        return stat and stat[:2]

    @contextmanager
    def _hold_lock(self, mode: Mode) -> Iterator[None]:
        """Hold the lock. If no lock file can be written, a reader works without one, because
        DuckDB's own lock keeps writers away.
        """
        if mode == "READ_ONLY" and not os.access(self.file.parent, os.W_OK):
            yield
            return
        place = self.file.with_name(self.file.name + ".lock")
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            # One lock for this thread and process: making one takes as long as taking it.
            made = getattr(self._of_thread, "lock", None)
            if made is None or made[0] != os.getpid():
                made = os.getpid(), ReadWriteLock(place, timeout=self.timeout_s, is_singleton=False)
                self._of_thread.lock = made
            lock = made[1]
            proxy = lock.acquire_read() if mode == "READ_ONLY" else lock.acquire_write()
        except Timeout:
            try:
                holder = self._holder.read_text()
            except FileNotFoundError:
                holder = "another process that is reading"
            raise StoreBusy(
                f"{self.file}: held for more than {self.timeout_s:g} s by {holder}; try again when"
                " it is done"
            ) from None
        except sqlite3.Error as error:
            raise explain_text(error, place) or StoreError(
                f"{place}: cannot be used as a lock: {first_line(error)}"
            ) from error
        except OSError as error:
            raise explain(error, error.filename or place) from error
        with proxy:
            if mode == "READ_ONLY":
                # of a writer that was killed: none lives while somebody may read
                with suppress(OSError):
                    self._holder.unlink(missing_ok=True)
                yield
                return
            command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])
            with suppress(OSError):  # only for messages
                self._holder.write_text(
                    f"process {os.getpid()} ({command}) since {datetime.now():%H:%M:%S}",
                    "utf-8",
                    "replace",
                )
            try:
                yield
            finally:
                with suppress(OSError):
                    self._holder.unlink(missing_ok=True)

    @contextmanager
    def _cursor(self) -> Iterator[Cursor]:
        cursor = self._attachment.connection.cursor()
        self._of_thread.cursor = cursor
        try:
            cursor.execute("USE desk")
            yield cursor
        except duckdb.Error as error:
            explained = self._explain(error)
            if explained is None:
                raise
            raise explained from error
        finally:
            self._of_thread.cursor = None
            cursor.close()

    def _explain(self, error: duckdb.Error) -> DeskError | None:
        """Return an error in the user's terms; None for a mistake in the query."""
        if isinstance(error, duckdb.OutOfMemoryException) or _SHORT_OF_MEMORY in str(error):
            most = f"{self.memory_mb:,} MB"
            return explain_text(error, self.file) or StoreMemoryShort(
                f"{self.file}: the store needs more than the {most} of memory that it may have;"
                " raise PERTURBDESK_STORE_MEMORY_MB"
            )
        # a block whose checksum differs is of no kind
        if type(error) is duckdb.Error or isinstance(
            error, duckdb.IOException | duckdb.FatalException | duckdb.SerializationException
        ):
            return self._attachment.error_of(error)
        return (
            explain_text(error, self.file)
            if isinstance(error, duckdb.TransactionException)
            else None
        )


def open_store(settings: Settings) -> Store:
    """Return the store of a workspace; one gate per process, cached while few others are opened."""
    return _open_store(
        settings.store_file,
        settings.cache / "scratch",
        settings.busy_timeout_s,
        settings.store_memory_mb,
    )


_open_store = lru_cache(maxsize=OPEN_STORES)(Store)
