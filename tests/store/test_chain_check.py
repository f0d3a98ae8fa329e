"""What somebody did to the store's file behind the app: from which entry on, and what, as far as the chains can tell."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from core.errors import InputError, StoreDamaged
from core.store import Store, chain, changes, hypotheses
from core.store.chain import Finding
from core.store.connection import Cursor
from core.store.frozen.hash_chain_1 import chain_hash
from core.store.hypotheses import HERE, Entry
from tests import worlds

LINES, ENTRIES = 12, 4  # an entry of the ledger is counted by the audit log's lines 3, 6, 9 and 12
Attack = Callable[[Cursor], object]


def write_both(store: Store) -> None:
    for number in range(1, LINES + 1):
        with store.write() as db:
            detail: dict[str, object] = {"rows": number, "name": "x"}
            if number % 3 == 0:
                entry = Entry(kind="registration", name=f"h{number}", hypothesis="it rises", source=HERE, smallest_effect=1)
                hypotheses.add(db, entry, f"id{number}")
                detail["ledger"] = asdict(chain.head(db, chain.LEDGER))
            changes.record(db, "Ada", "set", f"run {number}", detail)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    write_both(Store(folder / "desk.duckdb", folder / "cache"))
    return folder


@pytest.fixture
def store(written: Path, tmp_path: Path) -> Store:
    shutil.copytree(written, tmp_path / "copy")
    return Store(tmp_path / "copy" / "desk.duckdb", tmp_path / "copy" / "cache")


def attacked(store: Store, attack: Attack) -> tuple[Finding, Finding]:
    with worlds.opened_directly(store.file) as db:
        attack(db)
    with store.read() as cursor:
        return chain.verify(cursor)


def sql(*statements: str) -> Attack:
    return lambda db: [db.execute(statement) for statement in statements]


def rows_of(db: Cursor, table: str) -> list[dict[str, object]]:
    found = db.execute(f"SELECT * FROM {table} ORDER BY position")
    names = [column[0] for column in found.description]
    return [dict(zip(names, values, strict=True)) for values in found.fetchall()]


def write_rows(db: Cursor, table: str, rows: list[dict[str, object]]) -> None:
    db.execute(f"DELETE FROM {table}")
    for row in rows:
        db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


def recompute(table: str, first: int, last: int | None = None, change: str = "author") -> Attack:
    """Somebody who knows how hashes are made changes an entry, and makes the hashes of it and those behind it anew."""

    def attack(db: Cursor) -> None:
        rows = rows_of(db, table)
        rows[first - 1][change] = "Mallory"
        for at in range(first - 1, last or len(rows)):
            rows[at]["previous"] = rows[at - 1]["hash"] if at else rows[at]["previous"]
            rows[at]["hash"] = chain_hash(str(rows[at]["previous"]), rows[at])
        write_rows(db, table, rows)

    return attack


def insert(table: str, number: int, *, renumber: bool = True, hashed: bool = False) -> Attack:
    """A backdated entry before the one of this number."""

    def attack(db: Cursor) -> None:
        rows = rows_of(db, table)
        new = {**rows[number - 1], "id": "forged"} if table == "hypothesis" else {**rows[number - 1], "author": "Mallory"}
        if hashed:
            new["hash"] = chain_hash(str(new["previous"]), new)
        if renumber:
            for row in rows[number - 1 :]:
                row["position"] = int(str(row["position"])) + 1
        write_rows(db, table, [*rows[: number - 1], new, *rows[number - 1 :]])

    return attack


def append_hashed(db: Cursor, **more: object) -> None:
    """An entry of the ledger with a right hash, but without its line in the audit log."""
    rows = rows_of(db, "hypothesis")
    new = {**rows[-1], "id": "forged", "position": len(rows) + 1, "previous": rows[-1]["hash"], **more}
    write_rows(db, "hypothesis", [*rows, {**new, "hash": chain_hash(str(new["previous"]), new)}])


def append_sealing(db: Cursor) -> None:
    append_hashed(db, other_entries=LINES, other_head=rows_of(db, "trail")[-1]["hash"])


def swap(table: str, *columns: str) -> Attack:
    """Entries 2 and 3 change places; columns: only what they say, their numbers otherwise."""

    def attack(db: Cursor) -> None:
        rows = rows_of(db, table)
        a, b = rows[1], rows[2]
        for name in columns or ("position",):
            a[name], b[name] = b[name], a[name]
        write_rows(db, table, rows)

    return attack


MICROSECOND = "UPDATE {} SET {} = {} + INTERVAL 1 MICROSECOND WHERE position = {}"
LEDGER_ATTACKS: dict[str, tuple[Attack, int, str]] = {
    "another rule": (sql("UPDATE hypothesis SET smallest_effect = 0.5 WHERE position = 3"), 3, "changed"),
    "an effect given": (sql("UPDATE hypothesis SET estimate = 0.1 WHERE position = 2"), 2, "changed"),
    "NaN for none": (sql("UPDATE hypothesis SET estimate = 'NaN' WHERE position = 2"), 2, "changed"),
    "a blank": (sql("UPDATE hypothesis SET hypothesis = hypothesis || ' ' WHERE position = 1"), 1, "changed"),
    "all rewritten": (sql("UPDATE hypothesis SET seen_before = false, written_at = TIMESTAMP '2020-01-01'"), 1, "changed"),
    "a microsecond": (sql(MICROSECOND.format("hypothesis", "written_at", "written_at", 4)), 4, "changed"),
    "said to be older": (sql("UPDATE hypothesis SET chained = 'at upgrade' WHERE position = 2"), 2, "changed"),
    "a time that Python does not know": (
        sql("UPDATE hypothesis SET written_at = '290000-01-01' WHERE position = 2"),
        2,
        "changed",
    ),
    "one hash made anew": (recompute("hypothesis", 2, 2), 2, "changed"),
    "all hashes made anew": (recompute("hypothesis", 2), 2, "changed"),
    "one deleted": (sql("DELETE FROM hypothesis WHERE position = 2"), 2, "missing"),
    "one deleted, others renumbered": (
        sql("DELETE FROM hypothesis WHERE position = 2", "UPDATE hypothesis SET position = position - 1 WHERE position > 2"),
        2,
        "missing",
    ),
    "the first deleted": (sql("DELETE FROM hypothesis WHERE position = 1"), 1, "missing"),
    "the last two deleted": (sql("DELETE FROM hypothesis WHERE position > 2"), 3, "missing"),
    "all deleted": (sql("DELETE FROM hypothesis"), 1, "missing"),
    "one inserted": (insert("hypothesis", 2), 2, "inserted"),
    "one inserted with a hash": (insert("hypothesis", 2, hashed=True), 2, "inserted"),
    "one appended with a hash": (append_hashed, 5, "inserted"),
    "two swapped": (swap("hypothesis"), 2, "reordered"),
    "what two say swapped": (swap("hypothesis", "id", "first", "name", "written_at"), 2, "reordered"),
}
LOG_ATTACKS: dict[str, tuple[Attack, int, str]] = {
    "another author": (sql("UPDATE trail SET author = 'Eve' WHERE position = 5"), 5, "changed"),
    "a microsecond": (sql(MICROSECOND.format("trail", "changed_at", "changed_at", 7)), 7, "changed"),
    "a microsecond of UTC": (sql(MICROSECOND.format("trail", "chained_at", "chained_at", 7)), 7, "changed"),
    "detail": (sql("UPDATE trail SET detail = replace(detail, '4', '5') WHERE position = 4"), 4, "changed"),
    "detail in another order": (sql("""UPDATE trail SET detail = '{"rows": 4, "name": "x"}' WHERE position = 4"""), 4, "changed"),
    "detail that is no JSON": (sql("UPDATE trail SET detail = '{' WHERE position = 4"), 4, "changed"),
    "the ledger's head": (sql("UPDATE trail SET other_entries = 0 WHERE position = 12"), 12, "changed"),
    "a form of one's own": (sql("UPDATE trail SET form = 2 WHERE position = 2"), 2, "changed"),
    "one hash made anew": (recompute("trail", 5, 5), 5, "changed"),
    "a hash taken away": (sql("UPDATE trail SET hash = NULL WHERE position = 5"), 5, "inserted"),
    "those of one kind deleted": (sql("DELETE FROM trail WHERE subject IN ('run 3', 'run 6')"), 3, "missing"),
    "renumbered": (
        sql("DELETE FROM trail WHERE position IN (4, 5)", "UPDATE trail SET position = position - 2 WHERE position > 5"),
        4,
        "missing",
    ),
    "the last five deleted": (sql("DELETE FROM trail WHERE position > 7"), 8, "missing"),
    "the last deleted, which counts the ledger": (sql("DELETE FROM trail WHERE position > 11"), 12, "missing"),
    "one inserted": (insert("trail", 6), 6, "inserted"),
    "one inserted with a hash": (insert("trail", 6, hashed=True), 6, "inserted"),
    "two of one number": (insert("trail", 6, renumber=False), 6, "inserted"),
    "a line without a chain": (
        sql("INSERT INTO trail (changed_at, author, action, subject, detail) VALUES ('2020-01-01', 'Eve', 'set', 'x', '{}')"),
        13,
        "inserted",
    ),
    "two swapped": (swap("trail"), 2, "reordered"),
    "what two say swapped": (swap("trail", "changed_at", "subject", "detail"), 2, "reordered"),
    "times swapped": (swap("trail", "changed_at"), 2, "changed"),
    "a column that is not ours": (sql("ALTER TABLE trail ADD COLUMN x INTEGER DEFAULT 1"), 1, "changed"),
}


def test_what_was_written_is_intact(store: Store) -> None:
    ledger, log = attacked(store, lambda _: None)
    assert (ledger.is_intact, ledger.entries, log.is_intact, log.entries) == (True, ENTRIES, True, LINES)
    with store.read() as db:
        assert (ledger.head, log.head) == (chain.head(db, chain.LEDGER).hash, chain.head(db, chain.AUDIT_LOG).hash)
        assert chain.find_head(db, ledger.head) == ("ledger", ENTRIES)
        assert chain.find_head(db, log.head) == ("audit log", LINES)
    assert ledger.sentence == f"Ledger: intact, 4 entries, head {ledger.head}."


@pytest.mark.few(2)
@pytest.mark.parametrize("what", LEDGER_ATTACKS)
def test_an_attack_on_the_ledger_is_found(store: Store, what: str) -> None:
    attack, number, damage = LEDGER_ATTACKS[what]
    ledger, log = attacked(store, attack)
    assert (ledger.broken_from, ledger.damage, log.is_intact) == (number, damage, True)
    assert f"broken from entry {number}" in ledger.sentence


@pytest.mark.few(3)
@pytest.mark.parametrize("what", LOG_ATTACKS)
def test_an_attack_on_the_audit_log_is_found(store: Store, what: str) -> None:
    attack, number, damage = LOG_ATTACKS[what]
    ledger, log = attacked(store, attack)
    assert (log.broken_from, log.damage, ledger.is_intact) == (number, damage, True)


@pytest.mark.soak
def test_an_entry_that_seals_the_whole_audit_log_lacks_its_line(store: Store) -> None:
    """The chains cannot tell a forged entry from a line that was deleted; they say that one of them is."""
    ledger, log = attacked(store, append_sealing)
    assert (ledger.is_intact, log.broken_from, log.damage) == (True, LINES + 1, "missing")
    assert "the line of entry 5 of the ledger" in log.sentence


@pytest.mark.soak
def test_an_audit_log_made_anew_is_found_by_the_ledger(store: Store) -> None:
    """Entry 4 of the ledger knows line 11; a line after it is sealed by nothing but a noted head."""
    ledger, log = attacked(store, recompute("trail", 5))
    assert ledger.is_intact
    assert (log.broken_from, log.damage) == (5, "changed")  # entry 2 of the ledger was written behind line 5


@pytest.mark.soak
def test_both_made_anew_are_found_by_a_noted_head_alone(store: Store) -> None:
    with store.read() as db:
        noted = [chain.head(db, each).hash for each in chain.CHAINS]
    shutil.rmtree(store.file.parent)
    forged = Store(store.file, store.file.parent / "cache")
    write_both(forged)
    with forged.read() as db:
        assert [each.is_intact for each in chain.verify(db)] == [True, True]
        assert [chain.find_head(db, each) for each in noted] == [None, None]


@pytest.mark.soak
def test_the_end_of_both_is_found_by_a_noted_head_alone(store: Store) -> None:
    with store.read() as db:
        noted = chain.head(db, chain.AUDIT_LOG).hash
    found = attacked(store, sql("DELETE FROM trail WHERE position > 8", "DELETE FROM hypothesis WHERE position > 2"))
    assert all(each.is_intact for each in found)
    with store.read() as db:
        assert chain.find_head(db, noted) is None


def test_a_head_that_is_none_is_refused(store: Store) -> None:
    with store.read() as db, pytest.raises(InputError, match="64 hexadecimal digits"):
        chain.find_head(db, "abc")


def test_a_table_without_its_chain_is_damaged(store: Store) -> None:
    with pytest.raises(StoreDamaged, match="audit log: the table trail"):
        attacked(store, sql("ALTER TABLE trail DROP COLUMN previous"))


@pytest.mark.soak
def test_work_goes_on_after_a_break(store: Store) -> None:
    """Nobody is locked out by an attack: what follows is chained to what is there, and the break stays where it was."""
    attacked(store, sql("DELETE FROM trail WHERE position = 5"))
    with store.write() as db:
        changes.record(db, "Ada", "set", "x", {})
    with store.read() as db:
        assert chain.verify(db)[1].broken_from == 5
