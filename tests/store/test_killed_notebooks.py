"""What holds the store and is killed, such as a notebook: the next one goes on at once, and nothing committed is lost."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from core.base.errors import DiskFull, StoreBusy, StoreDamaged
from core.store import Store, changes
from core.store.attachment import HEADERS_BYTES, check_log, let_go, log_of
from tests import mounts, worlds

ROOT = Path(__file__).resolve().parents[2]
ADD = """execute("INSERT INTO gene VALUES ('added', 'named', NULL)")"""
MANY = """execute("INSERT INTO gene SELECT i::VARCHAR, 'named', repeat('x', 100) FROM range(50000) t(i)")"""
REMOVE = """execute("DELETE FROM gene")"""
NOTEBOOK = "held = duckdb.connect(file, read_only={})"
STORE = "use = Store(Path(file), Path(file).parents[1] / 'cache').{}(); held = use.__enter__()"
# What holds the store, what it did, and the genes that were committed then.
HOLDERS = {
    "a notebook that reads": (NOTEBOOK.format(True), "held.execute('FROM gene')", ["first"]),
    "a notebook that reads in a transaction": (
        NOTEBOOK.format(True),
        "held.begin().execute('FROM gene')",
        ["first"],
    ),
    "a notebook that has written": (NOTEBOOK.format(False), f"held.{ADD}", ["added", "first"]),
    "a notebook in a transaction": (NOTEBOOK.format(False), f"held.begin().{REMOVE}", ["first"]),
    "a notebook in a second transaction": (
        NOTEBOOK.format(False),
        f"held.{ADD}; held.begin().{REMOVE}",
        ["added", "first"],
    ),
    "a store that reads": (STORE.format("read"), "held.execute('FROM gene')", ["first"]),
    "a store that writes": (STORE.format("write"), f"held.{MANY}", ["first"]),
    "a store that has committed": (
        STORE.format("write"),
        f"held.{ADD}; held.commit()",
        ["added", "first"],
    ),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with one gene."""
    folder = tmp_path_factory.mktemp("made")
    with store_at(folder).write() as db:
        db.execute("INSERT INTO gene VALUES ('first', 'named', NULL)")
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "here"))


def store_at(folder: Path, timeout_s: float = 0.5) -> Store:
    """A store that waits for nobody."""
    return Store(folder / "data" / "desk.duckdb", folder / "cache", timeout_s)


def kill_holder(folder: Path, hold: str, work: str) -> int:
    """Let another process hold a store and do some work, and kill it; return its process id."""
    program = f"""
import duckdb, sys, time
from pathlib import Path
from core.store import Store
file = {str(folder / "data" / "desk.duckdb")!r}
{hold}
{work}
print("ready", flush=True)
time.sleep(60)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        holder.kill()
    return holder.pid


def genes(store: Store) -> list[str]:
    with store.read() as db:
        return [
            name for (name,) in db.execute("SELECT symbol FROM gene ORDER BY symbol").fetchall()
        ]


def use(store: Store) -> list[str]:
    """Read and write; return the genes that were there."""
    found = genes(store)
    with store.write() as db:
        changes.bump(db, "runs")
    assert genes(store) == found
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("name", HOLDERS)
def test_the_next_one_reads_and_writes_at_once(here: Path, name: str) -> None:
    hold, work, committed = HOLDERS[name]
    kill_holder(here, hold, work)
    assert use(store_at(here)) == committed


@pytest.fixture(scope="module")
def with_log(made: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A store whose log holds two committed changes, and that log."""
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("with_log") / "here"))
    kill_holder(folder, NOTEBOOK.format(False), f"held.{ADD}; held.{ADD.replace('added', 'later')}")
    return folder, log_of(store_at(folder).file).read_bytes()


@pytest.mark.few(3)
@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.6, 0.99, 1.0])
def test_a_torn_log_holds_what_was_committed_before_it_was_torn(
    with_log: tuple[Path, bytes], tmp_path: Path, share: float
) -> None:
    folder, log = with_log
    store = store_at(Path(shutil.copytree(folder, tmp_path / "torn")))
    log_of(store.file).write_bytes(log[: int(len(log) * share)])
    whole = (
        ["first"]
        if share < 0.5
        else ["added", "first"]
        if share < 1
        else ["added", "first", "later"]
    )
    assert use(store) == whole
    assert bool(store.recovered) == (0.05 < share < 1), store.recovered


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "first byte": lambda log: bytes(1) + log[1:],
    "first 16 zero": lambda log: bytes(16) + log[16:],
    "first 64 zero": lambda log: bytes(64) + log[64:],
    "all zero": lambda log: bytes(len(log)),
    "all random": lambda log: random.Random(1).randbytes(len(log)),
    "another store's": lambda log: log[:10] + bytes(byte ^ 1 for byte in log[10:12]) + log[12:],
    "a hole": lambda log: log[: len(log) // 2] + bytes(30) + log[len(log) // 2 + 30 :],
    "nothing of its first half": lambda log: log[len(log) // 2 :],
}


@pytest.mark.few(3)
@pytest.mark.parametrize("damage", DAMAGES)
def test_no_commit_of_a_damaged_log_is_passed_over(
    with_log: tuple[Path, bytes], tmp_path: Path, damage: str
) -> None:
    folder, log = with_log
    store = store_at(Path(shutil.copytree(folder, tmp_path / "damaged")))
    place, content = log_of(store.file), DAMAGES[damage](log)
    place.write_bytes(content)
    for act in (store.read, store.write):
        with pytest.raises(StoreDamaged, match=r"desk\.duckdb\.wal: cannot be read"), act():
            pass
    assert place.read_bytes() == content


@pytest.mark.few(1)
@pytest.mark.parametrize("change", [0x01, 0xFF])
def test_no_byte_of_a_log_can_change_without_a_word(
    with_log: tuple[Path, bytes], tmp_path: Path, change: int
) -> None:
    """Where the check passes a changed log, DuckDB itself refuses it: none shows fewer changes."""
    folder, log = with_log
    copy = Path(shutil.copytree(folder, tmp_path / "changed"))
    place, found = log_of(store_at(copy).file), store_at(copy).file
    passed = 0
    for at in range(0, len(log)):
        place.write_bytes(log[:at] + bytes([log[at] ^ change]) + log[at + 1 :])
        try:
            check_log(found, found.read_bytes()[:HEADERS_BYTES])
        except StoreDamaged:
            continue
        passed += 1
        with duckdb.connect(":memory:") as db, pytest.raises(duckdb.Error, match="WAL"):
            db.execute(f"ATTACH '{found}' AS desk (READ_ONLY)")
    assert passed > len(log) / 4  # the content of changes, which DuckDB checks


def test_a_notebook_that_is_writing_is_no_damage(here: Path) -> None:
    """Its log changes while a reader waits for the file."""
    file, store = store_at(here).file, store_at(here)
    assert genes(store) == ["first"]
    let_go(file)
    with duckdb.connect(file) as notebook:
        torn = log_of(file)
        notebook.execute("INSERT INTO gene VALUES ('added', 'named', NULL)")
        torn.write_bytes(
            torn.read_bytes() + bytes([9, 0, 0, 0, 0, 0, 0, 0, 1])
        )  # as if in the middle
        waiting = Store(file, here / "cache", 0.2)
        with pytest.raises(StoreBusy), waiting.read():
            pass
        assert not waiting.recovered


def test_a_damaged_log_is_named_and_without_it_the_store_opens(
    with_log: tuple[Path, bytes], tmp_path: Path
) -> None:
    folder, log = with_log
    store = store_at(Path(shutil.copytree(folder, tmp_path / "damaged")))
    place, content = log_of(store.file), log[:-5] + bytes(5)
    place.write_bytes(content)
    for act in (store.read, store.write):
        with (
            pytest.raises(
                StoreDamaged,
                match=r"desk\.duckdb\.wal: cannot be read, and is left as it is: .* move this log away",
            ),
            act(),
        ):
            pass
    assert place.read_bytes() == content
    place.rename(tmp_path / "away")
    assert use(store) == ["first"]


def test_the_log_of_a_store_that_was_moved_away_is_kept(
    with_log: tuple[Path, bytes], tmp_path: Path
) -> None:
    folder, log = with_log
    store = store_at(Path(shutil.copytree(folder, tmp_path / "moved")))
    store.file.rename(tmp_path / "away")
    assert use(store) == []
    [aside] = store.file.parent.glob("*without-store*")
    assert aside.read_bytes() == log


def test_the_holder_file_of_a_killed_writer_blames_nobody(here: Path) -> None:
    kill_holder(here, STORE.format("write"), f"held.{ADD}")
    file = store_at(here).file
    left = file.with_name(file.name + ".holder")
    left.write_text(f"process {os.getpid()} (a stranger with the same id) since 00:00:00")
    other = store_at(here)
    with store_at(here).read(), pytest.raises(StoreBusy) as busy:
        other._prepared = other._identity()
        with other.write():
            pass
    assert "stranger" not in str(busy.value)
    assert "by another process that is reading" in str(busy.value)


@pytest.mark.soak
def test_a_process_killed_while_it_makes_a_store_leaves_none(tmp_path: Path) -> None:
    program = f"""
import os, signal
from pathlib import Path
from core.store import Store, schema
schema.create = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
place = Path({str(tmp_path)!r})
with Store(place / "data" / "desk.duckdb", place / "cache").read():
    pass
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode < 0
    assert not store_at(tmp_path).file.exists()
    assert use(store_at(tmp_path)) == []
    assert not list((tmp_path / "data").glob(".*.part"))


@pytest.mark.few(1)
@pytest.mark.parametrize("free", [0, 8 << 10, 16 << 10, 300 << 10])
def test_a_full_disk_leaves_no_half_made_store(tmp_path: Path, free: int) -> None:
    with mounts.small_disk(tmp_path / "disk", 4 << 20) as disk:
        store = store_at(disk)
        filler = mounts.fill(disk, free)
        with (
            pytest.raises(DiskFull, match=r"desk\.duckdb(\.lock)?: no space left on the disk"),
            store.read(),
        ):
            pass
        filler.unlink()
        assert use(store) == []


def test_a_store_is_made_by_one_of_those_that_want_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one waits for the lock, another makes the store and writes to it."""
    late, early = store_at(tmp_path), store_at(tmp_path)
    hold: Callable[..., object] = late._hold_lock

    def hold_after_the_other(mode: str) -> object:
        monkeypatch.setattr(late, "_hold_lock", hold)
        with early.write() as db:
            db.execute("INSERT INTO gene VALUES ('first', 'named', NULL)")
        return hold(mode)

    monkeypatch.setattr(late, "_hold_lock", hold_after_the_other)
    assert genes(late) == ["first"]
    with worlds.opened_directly(late.file, read_only=True) as notebook:
        assert len(notebook.execute("FROM gene").fetchall()) == 1
