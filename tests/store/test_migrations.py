"""Numbered steps: an older store is upgraded, all or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.store import Store, migrations
from core.store.connection import Cursor


def fresh(folder: Path) -> Store:
    return Store(folder / "desk.duckdb", folder / "cache")


def steps_done(store: Store) -> list[tuple[int, str]]:
    with store.read() as db:
        return db.execute("SELECT version, name FROM schema_version ORDER BY version").fetchall()


@pytest.mark.soak
def test_every_step_is_recorded_once(tmp_path: Path) -> None:
    expected = [(number, step.__name__) for number, step in enumerate(migrations.STEPS, start=1)]
    assert steps_done(fresh(tmp_path)) == expected
    assert steps_done(fresh(tmp_path)) == expected


@pytest.mark.soak
def test_an_older_store_is_upgraded_and_keeps_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fresh(tmp_path).write() as db:
        db.execute("INSERT INTO gene VALUES ('Ga', 'named', NULL)")

    def add_chromosome(cursor: Cursor) -> None:
        cursor.execute("ALTER TABLE gene ADD COLUMN chromosome VARCHAR DEFAULT 'unknown'")

    monkeypatch.setattr(migrations, "STEPS", [*migrations.STEPS, add_chromosome])
    upgraded = fresh(tmp_path)
    with upgraded.read() as db:
        assert db.execute("SELECT symbol, chromosome FROM gene").fetchall() == [("Ga", "unknown")]
    assert steps_done(upgraded)[-1] == (len(migrations.STEPS), "add_chromosome")


@pytest.mark.soak
def test_a_step_that_fails_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = steps_done(fresh(tmp_path))

    def half_done(cursor: Cursor) -> None:
        cursor.execute("CREATE TABLE half (a INTEGER)")
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(migrations, "STEPS", [*migrations.STEPS, half_done])
        with pytest.raises(ZeroDivisionError), fresh(tmp_path).read():
            pass
    store = fresh(tmp_path)
    assert steps_done(store) == before
    with store.read() as db:
        assert db.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'half'").fetchall() == []
