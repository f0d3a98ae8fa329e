"""The gate: who may use the file when, and what a broken file says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from filelock import ReadWriteLock

from core.base.config import Settings
from core.base.errors import InputError, StoreBusy, StoreDamaged, StoreOtherSchema
from core.store import Cursor, Store, changes, connection, open_store
from core.store.attachment import HEADERS_BYTES
from core.store.connection import OPEN_STORES
from core.store.queries import Insertion, insert_all
from tests import worlds


def store_at(folder: Path, timeout_s: float = 30.0) -> Store:
    return Store(folder / "data" / "desk.duckdb", folder / "cache", timeout_s)


def bumps(cursor: Cursor, scope: str = "runs") -> int:
    return changes.versions(cursor).get(scope, 0)


def child(code: str, folder: Path) -> subprocess.Popen[str]:
    """Another process with a store of its own on the same file, named `store`."""
    program = f"""
import os, sys, time
from pathlib import Path
from core.store import Store, changes
store = Store(Path({str(folder)!r}) / "data" / "desk.duckdb", Path({str(folder)!r}) / "cache", 30.0)
{textwrap.dedent(code)}
"""
    root = Path(__file__).resolve().parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


@pytest.mark.soak
def test_a_new_store_is_made_with_its_schema(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with store.read() as db:
        tables = {
            name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        }
    assert {"dataset", "pair", "run", "prediction", "trace_event", "schema_hash"} <= tables


@pytest.mark.soak
def test_the_stores_of_other_workspaces_are_closed_in_time(tmp_path: Path) -> None:
    settings = [Settings(workspace=tmp_path / str(i)) for i in range(OPEN_STORES + 1)]
    stores = [weakref.ref(open_store(each)) for each in settings]
    assert [store() is None for store in stores] == [True, *[False] * OPEN_STORES]
    assert open_store(settings[-1]) is stores[-1]()


@pytest.mark.soak
def test_a_thread_takes_the_lock_that_it_made_and_a_forked_process_makes_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, made = store_at(tmp_path), []

    def make(*arguments: Any, **options: Any) -> ReadWriteLock:
        made.append(threading.get_ident())
        return ReadWriteLock(*arguments, **options)

    monkeypatch.setattr(connection, "ReadWriteLock", make)
    with ThreadPoolExecutor(1) as other:
        for _ in range(3):
            with store.write() as cursor:
                changes.bump(cursor, "runs")
            assert other.submit(read_bumps, store).result() == read_bumps(store)
    assert len(made) == len(set(made)) == 2
    monkeypatch.setattr(connection.os, "getpid", lambda: -1)
    assert read_bumps(store) == 3
    assert len(made) == 3


def read_bumps(store: Store) -> int:
    with store.read() as cursor:
        return bumps(cursor)


@pytest.mark.soak
def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with pytest.raises(ZeroDivisionError), store.write() as db:
        changes.bump(db, "runs")
        raise ZeroDivisionError
    with store.read() as db:
        assert changes.versions(db) == {}


def test_a_write_within_a_read_is_refused_and_not_a_deadlock(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with store.read(), pytest.raises(RuntimeError, match="inside a read"), store.write():
        pass


@pytest.mark.soak
def test_readers_cannot_write_nor_reach_other_files(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with store.read() as db:
        with pytest.raises(duckdb.InvalidInputException):
            db.execute("INSERT INTO version VALUES ('x', 1)").fetchall()
        with pytest.raises(duckdb.PermissionException):
            db.execute(f"SELECT * FROM read_csv('{tmp_path}/secret.csv')").fetchall()
        with pytest.raises(duckdb.Error, match="locked"):
            db.execute("SET enable_external_access = true")


@pytest.mark.soak
def test_busy_names_the_process_that_writes(tmp_path: Path) -> None:
    with store_at(tmp_path).read():
        pass
    holder = child(
        "with store.write():\n    print(os.getpid(), flush=True)\n    time.sleep(60)", tmp_path
    )
    assert holder.stdout is not None
    pid = holder.stdout.readline().strip()
    impatient = store_at(tmp_path, timeout_s=0.2)
    try:
        with pytest.raises(StoreBusy, match=rf"process {pid} "), impatient.read():
            pass
        with pytest.raises(StoreBusy, match=rf"process {pid} "), impatient.write():
            pass
    finally:
        holder.kill()
        holder.communicate()


def test_busy_names_a_program_that_opened_the_file_itself(tmp_path: Path) -> None:
    file = store_at(tmp_path).file
    with store_at(tmp_path).read():
        pass
    code = f"import duckdb; held = duckdb.connect({str(file)!r}); print(os.getpid(), flush=True); time.sleep(60)"
    holder = child(code, tmp_path)
    assert holder.stdout is not None
    pid = holder.stdout.readline().strip()
    try:
        with (
            pytest.raises(StoreBusy, match=rf"process {pid} "),
            store_at(tmp_path, timeout_s=0.2).read(),
        ):
            pass
    finally:
        holder.kill()
        holder.communicate()
    with store_at(tmp_path).read():  # as soon as the notebook lets go
        pass


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a DuckDB file"),
        (b"SQLite format 3\x00" + b"\x00" * 4000, "not a DuckDB file"),
        (b"id,pert,gene\n", "not a DuckDB file"),
    ],
)
def test_a_foreign_file_is_refused_and_left_alone(
    tmp_path: Path, content: bytes, words: str
) -> None:
    store = store_at(tmp_path)
    store.file.write_bytes(content)
    for use in (store.read, store.write):
        with pytest.raises(StoreDamaged, match=words), use():
            pass
    assert store.file.read_bytes() == content


@pytest.mark.few(1)
@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_a_truncated_store_is_refused_and_left_alone(tmp_path: Path, share: float) -> None:
    whole = store_at(tmp_path)
    with whole.write() as db:
        db.execute(
            "INSERT INTO gene SELECT i::VARCHAR, 'named', md5(i::VARCHAR) FROM range(50000) t(i)"
        )
    content = whole.file.read_bytes()
    cut = store_at(tmp_path / "cut")
    cut.file.write_bytes(content[: int(len(content) * share)])
    before = cut.file.read_bytes()
    for use in (cut.read, cut.write):
        with pytest.raises(StoreDamaged, match=r"left as it is"), use():
            pass
    assert cut.file.read_bytes() == before


def test_somebody_elses_database_is_refused(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with worlds.opened_directly(store.file) as other:
        other.execute("CREATE TABLE mine (a INTEGER)")
    before = store.file.read_bytes()
    with pytest.raises(StoreDamaged, match="not a PerturbDesk store"), store.read():
        pass
    assert store.file.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "stated"),
    [
        ("UPDATE schema_hash SET sha256 = repeat('ab', 32)", "schema ababababab"),
        ("DELETE FROM schema_hash", "without a hash"),
        ("DROP TABLE schema_hash", "without a hash"),  # as the numbered schemas of version 0.2
    ],
)
def test_a_store_of_another_schema_is_refused_in_one_line_and_left_as_it_is(
    tmp_path: Path, change: str, stated: str
) -> None:
    store = store_at(tmp_path)
    with store.write() as db:
        db.execute(change)
    before = {path.name: path.read_bytes() for path in store.file.parent.glob("desk.duckdb*")}
    for use in (store_at(tmp_path).read, store_at(tmp_path).write):
        with pytest.raises(StoreOtherSchema) as refused, use():
            pass
        assert str(store.file) in str(refused.value)
        assert stated in str(refused.value)
        assert "\n" not in str(refused.value)
    left = {path.name: path.read_bytes() for path in store.file.parent.glob("desk.duckdb*")}
    assert left == before


def test_an_empty_database_is_no_store(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with worlds.opened_directly(store.file):
        pass
    with pytest.raises(StoreDamaged, match="no tables"), store.read():
        pass


@pytest.mark.soak
def test_a_file_put_in_place_of_another_is_looked_at_anew(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with store.write() as db:
        changes.bump(db, "runs")
    store.file.unlink()
    with store.read() as db:
        assert changes.versions(db) == {}


def set_age(store: Store, seconds: float) -> None:
    """Let the file and its log have been changed that long ago."""
    for place in (store.file, store.file.with_name(store.file.name + ".wal")):
        if place.exists():
            os.utime(place, ns=(0, time.time_ns() - int(seconds * 10**9)))


@pytest.mark.soak
def test_a_commit_changes_the_state_of_the_file_and_a_read_does_not(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with store.read():
        pass
    set_age(store, 60)
    before = store.settled_state()
    assert before is not None
    with store.read() as db:
        bumps(db)
    assert store.settled_state() == before
    finished(child("with store.write() as db: changes.bump(db, 'runs')", tmp_path))
    set_age(store, 30)
    assert store.settled_state() not in (before, None)


@pytest.mark.soak
def test_a_file_that_changed_a_moment_ago_may_change_again_without_a_sign(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with store.read():
        pass
    set_age(
        store, -30
    )  # ahead of this clock, as on another machine's disk: it is settled once it stays so
    assert store.settled_state() is not None
    set_age(store, 0)
    assert store.settled_state() is None


def test_an_insertion_that_fails_says_why(tmp_path: Path) -> None:
    """Not that the transaction is aborted, which is what the clean-up after it finds."""
    rows = pa.table({"name": ["runs", "runs"], "version": [1, 2]})
    with pytest.raises(duckdb.ConstraintException, match="runs"), store_at(tmp_path).write() as db:
        db.execute("CREATE TABLE once (name VARCHAR PRIMARY KEY, version INTEGER)")
        insert_all(db, [Insertion("once", rows)])


@pytest.mark.parametrize("sign", "?\\")
def test_a_path_that_duckdb_misreads_is_refused_before_anything_is_written(
    tmp_path: Path, sign: str
) -> None:
    folder = tmp_path / f"a{sign}b"
    with pytest.raises(InputError, match=re.escape(f"may not hold {sign}")):
        Store(folder / "data" / "desk.duckdb", folder / "cache")
    assert not folder.exists()


@pytest.mark.parametrize(
    "name", ["per%cent", "per%20cent", "hash#q", "q'uote", "a*[b]", "a;b", "x\ny"]
)
def test_a_path_with_other_signs_works(tmp_path: Path, name: str) -> None:
    store = Store(tmp_path / name / "data" / "desk.duckdb", tmp_path / name / "cache")
    with store.write() as db:
        changes.bump(db, "runs")
    assert store.file.is_file()


@pytest.mark.parametrize("most", [100_000, 2_000_000])
def test_a_limit_on_the_size_of_files_is_no_damage(tmp_path: Path, most: int) -> None:
    store = store_at(tmp_path)
    with store.write() as db:
        changes.bump(db, "runs")
    tried = child(
        f"""
        import resource
        from core.base.errors import SystemFailure
        resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))
        try:
            with store.write() as db:
                db.execute("INSERT INTO gene SELECT i::VARCHAR, 'named', md5(i::VARCHAR) FROM range(400000) t(i)")
        except SystemFailure as error:
            print(error)
        """,
        tmp_path,
    )
    assert "a limit on the size of a file is reached" in finished(tried)
    with store.read() as db:
        assert bumps(db) == 1


def test_a_block_that_was_changed_is_damage_and_stays_as_it_is(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    with store.write() as db:
        db.execute(
            "INSERT INTO gene SELECT i::VARCHAR, 'named', md5(i::VARCHAR) FROM range(40000) t(i)"
        )
    store._attachment.end()
    content = store.file.read_bytes()
    said = []
    for block in range(HEADERS_BYTES, len(content), 262_144):  # DuckDB's blocks
        place = tmp_path / str(block) / "desk.duckdb"
        place.parent.mkdir()
        place.write_bytes(
            changed := content[: block + 100]
            + bytes([content[block + 100] ^ 4])
            + content[block + 101 :]
        )
        try:
            with Store(place, tmp_path / "cache").read() as db:
                db.execute("SELECT * FROM gene").fetchall()
        except StoreDamaged as error:
            said.append(str(error))
        assert place.read_bytes() == changed
    assert said
    assert all("cannot be read, and is left as it is" in each for each in said)
