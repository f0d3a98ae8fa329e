"""A store from elsewhere is made anew of the rows of its tables; whatever else it holds is refused or left out by name."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from core.errors import DeskError, StoreDamaged, StoreTooNew, UnsafeFile
from core.store import Store, changes, migrations, rebuild
from tests import worlds
from tests.store.test_frozen import old_store

PACKED, MEMORY_MB = 50_000, 200
LINES = 3


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with a few rows."""
    folder = tmp_path_factory.mktemp("sound")
    store = Store(folder / "desk.duckdb", folder / "cache")
    for number in range(LINES):
        with store.write() as db:
            changes.record(db, "Ada", "set", f"run {number}", {"n": number})
    with store.write() as db:
        db.execute("INSERT INTO gene VALUES ('Ga', 'named', 'é'), ('Gb', 'named', NULL)")
    return store.file


@pytest.fixture
def source(sound: Path, tmp_path: Path) -> Path:
    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()
    return Path(shutil.copy(sound, tmp_path / "from" / "desk.duckdb"))


def changed(source: Path, *statements: str, checkpoint: bool = True) -> Path:
    with worlds.opened_directly(source) as db:
        if not checkpoint:
            db.execute("PRAGMA disable_checkpoint_on_shutdown")
            db.execute("SET checkpoint_threshold = '1GB'")
        for statement in statements:
            db.execute(statement)
    return source


def rebuilt(source: Path) -> tuple[list[str], Store]:
    target = source.parent.parent / "to" / "desk.duckdb"
    left_out = rebuild.rebuild(source, target, "b.zip", PACKED, MEMORY_MB)
    return left_out, Store(target, target.parent / "cache")


def contents(store: Store) -> dict[str, list[tuple[object, ...]]]:
    with store.read() as db:
        tables = [
            name for (name,) in db.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'desk'").fetchall()
        ]
        return {name: db.execute(f'SELECT * FROM "{name}"').fetchall() for name in tables}


@pytest.mark.soak
def test_every_row_comes_over_as_it_is(source: Path) -> None:
    left_out, store = rebuilt(source)
    assert left_out == []
    found = contents(store)
    assert found == contents(Store(source, source.parent / "cache"))
    assert (len(found["trail"]), len(found["gene"]), len(found["schema_version"])) == (LINES, 2, len(migrations.STEPS))
    assert not list(store.file.parent.glob("*.wal"))


@pytest.mark.soak
def test_changes_in_the_log_beside_it_come_over(source: Path) -> None:
    changed(source, "INSERT INTO gene VALUES ('Gc', 'named', NULL)", checkpoint=False)
    assert source.with_name("desk.duckdb.wal").exists()
    assert len(contents(rebuilt(source)[1])["gene"]) == 3


LEFT_OUT = {
    "a view": ("CREATE VIEW v AS SELECT * FROM read_text('/etc/passwd')", ["view v"]),
    "a view that never ends": (
        "CREATE VIEW v AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r",
        ["view v"],
    ),
    "a macro that hides a function": ("CREATE MACRO count() AS 0; CREATE MACRO strlen(x) AS 0", ["macro count", "macro strlen"]),
    "a table macro that hides DuckDB's list": ("CREATE MACRO duckdb_tables() AS TABLE SELECT 1", ["macro duckdb_tables"]),
    "a trigger": (
        "CREATE TRIGGER t AFTER INSERT ON trail FOR EACH STATEMENT INSERT INTO gene VALUES ('x', 'y', 'z')",
        ["trigger t"],
    ),
    "a sequence and a type": ("CREATE SEQUENCE s; CREATE TYPE mood AS ENUM ('a')", ["sequence s", "type mood"]),
    "an index of an expression": ("CREATE INDEX i ON gene (lower(symbol))", ["index i"]),
    "an index of our name": (
        "DROP INDEX pair_by_id; CREATE INDEX pair_by_id ON pair (lower(pair_id))",
        ["index pair_by_id"],
    ),
    "a table": ("CREATE TABLE mine AS SELECT 1 AS x", ["table mine"]),
    "another schema": ("CREATE SCHEMA s; CREATE TABLE s.trail AS SELECT 1 AS x", ["schema s", "table s.trail"]),
}


@pytest.mark.soak
@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_is_beside_our_tables_is_left_out_and_named(source: Path, what: str) -> None:
    before = contents(Store(source, source.parent / "cache"))
    statements, names = LEFT_OUT[what]
    left_out, store = rebuilt(changed(source, *statements.split("; ")))
    assert left_out == names
    assert contents(store) == before
    with store.read() as db:
        assert rebuild.find_foreign(db) == []


REFUSED: dict[str, tuple[tuple[str, ...], type[DeskError], str]] = {
    "a view for a table": (
        ("DROP TABLE trail", "CREATE VIEW trail AS SELECT * FROM read_csv('/etc/passwd')"),
        UnsafeFile,
        "trail is a view",
    ),
    "a view for the versions": (
        ("ALTER TABLE schema_version RENAME TO v", "CREATE VIEW schema_version AS SELECT * FROM v"),
        StoreDamaged,
        "no PerturbDesk store",
    ),
    "a missing table": (("DROP TABLE call",), UnsafeFile, "call is missing"),
    "a computed column": (
        (
            "DROP TABLE gene",
            "CREATE TABLE gene (symbol VARCHAR PRIMARY KEY, naming VARCHAR NOT NULL, description VARCHAR AS (upper(naming)))",
        ),
        UnsafeFile,
        "column description",
    ),
    "a default of a sequence": (
        ("CREATE SEQUENCE s", "ALTER TABLE gene ALTER COLUMN description SET DEFAULT nextval('s')::VARCHAR"),
        UnsafeFile,
        "column description",
    ),
    "a type of one's own": (
        ("CREATE TYPE mood AS ENUM ('named')", "ALTER TABLE gene ALTER COLUMN naming TYPE mood"),
        UnsafeFile,
        "column naming",
    ),
    "another type": (("ALTER TABLE trail ALTER COLUMN position TYPE BIGINT",), UnsafeFile, "column position BIGINT"),
    "another column": (("ALTER TABLE trail ADD COLUMN x INTEGER",), UnsafeFile, "columns, not"),
    "a column less": (("ALTER TABLE trail DROP COLUMN hash",), UnsafeFile, "columns, not"),
    "a check": (
        ("DROP TABLE version", "CREATE TABLE version (scope VARCHAR PRIMARY KEY, n BIGINT NOT NULL, CHECK (n > random()))"),
        UnsafeFile,
        "its constraints",
    ),
    "a collation": (
        ("DROP TABLE version", "CREATE TABLE version (scope VARCHAR COLLATE NOCASE PRIMARY KEY, n BIGINT NOT NULL)"),
        UnsafeFile,
        "table version",
    ),
    "no rule": (("DROP TABLE version", "CREATE TABLE version (scope VARCHAR, n BIGINT)"), UnsafeFile, "column scope"),
    "a version twice": (("INSERT INTO schema_version SELECT * FROM schema_version",), UnsafeFile, "schema versions"),
    "a version left out": (("DELETE FROM schema_version WHERE version = 3",), UnsafeFile, "schema versions"),
    "an older version than it is": (("DELETE FROM schema_version WHERE version > 4",), UnsafeFile, "not made as"),
    "a later version": (("INSERT INTO schema_version VALUES (99, 'x', now())",), StoreTooNew, "update PerturbDesk"),
    "millions of rows": (
        ("INSERT INTO sampled_text SELECT 's', 1, 'p', 1, 'r', 1.0 FROM range(1_100_000)",),
        UnsafeFile,
        "unpacks to",
    ),
    "a text many times": (
        ("INSERT INTO rejected_row SELECT 'i', 1, 'r', repeat('x', 100_000) FROM range(300)",),
        UnsafeFile,
        "unpacks to",
    ),
    "long lists": (
        ("INSERT INTO prediction SELECT 'r', 'p', NULL, NULL, NULL, NULL, NULL, repeat(['f'], 1_100_000), NULL, 1, 1, 1",),
        UnsafeFile,
        "unpacks to",
    ),
    "long texts in lists": (
        ("INSERT INTO prediction SELECT 'r', 'p', NULL, NULL, NULL, NULL, NULL, [repeat('x', 30_000_000)], NULL, 1, 1, 1",),
        UnsafeFile,
        "unpacks to",
    ),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("what", REFUSED)
def test_a_store_that_is_not_as_ours_is_refused_by_name(source: Path, what: str) -> None:
    statements, kind, words = REFUSED[what]
    with pytest.raises(kind, match=words) as caught:
        rebuilt(changed(source, *statements))
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("b.zip: ")


def test_a_hostile_log_beside_it_is_refused(source: Path) -> None:
    changed(source, "DROP TABLE call", "CREATE VIEW call AS SELECT * FROM read_text('/etc/passwd')", checkpoint=False)
    assert source.with_name("desk.duckdb.wal").exists()
    with pytest.raises(UnsafeFile, match="call is a view"):
        rebuilt(source)


@pytest.mark.few(3)
@pytest.mark.parametrize("what", ["text", "cut", "flipped", "empty", "another database"])
def test_what_is_no_store_is_damaged(source: Path, what: str) -> None:
    content = source.read_bytes()
    flipped = bytearray(content)
    for place in range(4096 * 3, len(content), 997):
        flipped[place] ^= 0xFF
    source.write_bytes(
        {"text": b"SQLite format 3\0" * 999, "cut": content[: len(content) // 2], "flipped": flipped}.get(what, b"")
    )
    if what == "another database":
        source.unlink()
        changed(source, "CREATE TABLE x AS SELECT 1")
    with pytest.raises(StoreDamaged, match=r"^b\.zip: "):
        rebuilt(source)


@pytest.mark.soak
def test_an_old_store_is_copied_and_then_upgraded(tmp_path: Path) -> None:
    (tmp_path / "to").mkdir()
    old = old_store(tmp_path / "from" / "there").file
    _, store = rebuilt(Path(shutil.move(old, tmp_path / "from" / "desk.duckdb")))
    found = contents(store)
    with worlds.opened_directly(tmp_path / "from" / "desk.duckdb", read_only=True) as db:
        assert db.execute("SELECT max(version) FROM schema_version").fetchall() == [(4,)]
        for table in ("pair", "prediction", "trace_event", "run"):
            assert db.execute(f"SELECT count(*) FROM {table}").fetchall() == [(len(found[table]),)]
    assert [row[0] for row in found["schema_version"]] == list(range(1, len(migrations.STEPS) + 1))


def test_a_file_that_is_read_by_a_view_is_out_of_reach(source: Path, tmp_path: Path) -> None:
    """Even a query that names the view could not read what lies outside: the connection reaches two folders."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret", "utf-8")
    changed(source, f"CREATE VIEW v AS SELECT * FROM read_text('{secret}')")
    with rebuild.closed_connection(source.parent, source.parent / "scratch", MEMORY_MB) as closed:
        closed.execute(f"ATTACH '{source}' AS source (READ_ONLY)")
        with pytest.raises(duckdb.PermissionException):
            closed.execute("SELECT * FROM source.v").fetchall()
