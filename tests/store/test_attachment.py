"""What readers leave attached is used again while the file is as it was, and is in nobody's way."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from core.store import Store
from core.store.attachment import Attachment, let_go

ADD = "INSERT INTO unlike_ours VALUES (1)"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with a table of nobody's, without a row."""
    made = Store(tmp_path / "desk.duckdb", tmp_path / "scratch")
    with made.write() as db:
        db.execute("CREATE TABLE unlike_ours (a INTEGER)")
    return made


@pytest.fixture
def attached(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The mode of each attachment since the test began."""
    modes = []
    attach = Attachment._attach

    def counted(self: Attachment, mode: str, file: Path | None = None) -> None:
        modes.append(mode)
        attach(self, mode, file)  # type: ignore[arg-type]

    monkeypatch.setattr(Attachment, "_attach", counted)
    return modes


def count(store: Store) -> int:
    with store.read() as db:
        [(rows,)] = db.execute("SELECT count(*) FROM unlike_ours").fetchall()
    return int(rows)


def in_another_process(file: Path, statement: str) -> str:
    """Run a statement as a notebook would; return what it said of an error."""
    code = (
        f"import duckdb; db = duckdb.connect({str(file)!r}); db.execute({statement!r}); db.close()"
    )
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    ).stderr


@pytest.mark.soak
def test_readers_in_a_row_attach_once(
    store: Store, attached: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.store.attachment._KEPT_S", 60.0)
    for _ in range(5):
        assert count(store) == 0
    assert attached == ["READ_ONLY"]
    let_go(store.file)


def write_here(store: Store) -> None:
    with store.write() as db:
        db.execute(ADD)


def write_by_another_store(store: Store) -> None:
    write_here(Store(store.file, store.file.parent / "scratch"))


def write_by_a_notebook(store: Store) -> None:
    assert not in_another_process(store.file, ADD)


def write_by_a_notebook_of_this_process(store: Store) -> None:
    let_go(store.file)
    with duckdb.connect(str(store.file)) as db:
        db.execute(ADD)


def write_what_stays_in_the_log(store: Store) -> None:
    code = f"import duckdb, os; db = duckdb.connect({str(store.file)!r}); db.execute({ADD!r}); os._exit(0)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert store.file.with_name("desk.duckdb.wal").exists()


@pytest.mark.soak
@pytest.mark.parametrize(
    "write",
    [
        write_here,
        write_by_another_store,
        write_by_a_notebook,
        write_by_a_notebook_of_this_process,
        write_what_stays_in_the_log,
    ],
)
def test_the_next_reader_sees_what_was_written(
    store: Store, write: Callable[[Store], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.store.attachment._KEPT_S", 60.0)
    for rows in range(3):
        assert count(store) == rows
        write(store)
    assert count(store) == 3
    let_go(store.file)


@pytest.mark.soak
def test_another_file_in_its_place_is_read(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other" / "desk.duckdb", tmp_path / "scratch")
    with other.write() as db:
        db.execute("CREATE TABLE unlike_ours (a INTEGER)")
        db.execute(ADD)
    assert count(store) == 0
    other.file.replace(store.file)
    assert count(store) == 1


@pytest.mark.soak
def test_who_reads_again_is_safe_from_a_notebook(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock that was released between two reads is held during both."""
    monkeypatch.setattr("core.store.attachment._KEPT_S", 60.0)
    for _ in range(2):
        with store.read():
            assert "lock" in in_another_process(store.file, ADD)
    assert not in_another_process(store.file, ADD)
    let_go(store.file)


def test_a_writer_waits_for_a_timer_that_is_detaching(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another store of this process, whose reader kept the file: it is kept no more, and not detached yet."""
    other = Store(store.file, store.file.parent / "scratch")
    assert count(other) == 0

    class Slow:
        def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
            self.connection = connection

        def execute(self, statement: str) -> None:
            time.sleep(1.1)  # on a machine with much to do
            self.connection.execute(statement)

    monkeypatch.setattr(other._attachment, "connection", Slow(other._attachment.connection))
    timer = threading.Thread(target=other._attachment.let_go)
    timer.start()
    while other._attachment.is_kept:
        time.sleep(0.001)
    with store.write() as db:
        db.execute(ADD)
    timer.join()
    assert count(store) == 1


@pytest.mark.soak
def test_it_is_let_go_by_itself(store: Store) -> None:
    count(store)
    deadline = time.monotonic() + 30
    while store._attachment.is_kept:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with duckdb.connect(str(store.file)) as db:
        db.execute(ADD)
    assert count(store) == 1


@pytest.mark.soak
def test_a_process_that_ends_with_a_file_kept_says_nothing(store: Store) -> None:
    """A thread that outlived Python's modules would keep DuckDB's objects, of which it tells on standard error."""
    code = (
        "from pathlib import Path; from core.store import Store\n"
        f"store = Store(Path({str(store.file)!r}), Path({str(store.file.parent / 'scratch')!r}))\n"
        "for _ in range(3):\n"
        "    with store.read() as db: db.execute('SELECT 1').fetchall()\n"
        "assert store._attachment.is_kept"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
