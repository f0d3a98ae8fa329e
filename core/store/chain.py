"""Two chains of hashes, the audit log and the ledger: entries are appended, and each seals all before it.

An entry holds the hash of the one before and of its own columns (`frozen.hash_chain_1`). An entry of the ledger also has the end
of the audit log, and the line that tells of it the end of the ledger, so that neither loses entries unseen by the other.
`chain_check` reports mismatches. Whoever can write the file can make both chains again; only a head that was noted elsewhere
shows that.

Also checks whether the audit log and the ledger are intact, and if not, from which entry on and how.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

import duckdb

from core.clock import local_of
from core.errors import InputError, StoreDamaged
from core.store.connection import Cursor
from core.store.frozen.hash_chain_1 import GENESIS, chain_hash
from core.store.queries import one

WHEN_WRITTEN, AT_UPGRADE = "when written", "at upgrade"  # when an entry was chained; what it said before is not sealed


@dataclass(frozen=True, slots=True)
class Chain:
    """One of the chains. table: its table. time: the column with the local time of an entry."""

    name: str
    table: str
    time: str


LEDGER = Chain("ledger", "hypothesis", "written_at")
AUDIT_LOG = Chain("audit log", "trail", "changed_at")
CHAINS = (LEDGER, AUDIT_LOG)


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain. hash: of its last entry, or GENESIS."""

    entries: int
    hash: str


def head(cursor: Cursor, chain: Chain) -> Head:
    """Return the end of a chain, as its last entry states it."""
    # Two small queries: the last row by its order would be sorted by several threads, which is slow on a busy machine.
    [count] = one(cursor, f"SELECT max(position) FROM {chain.table}") or (None,)
    last = one(cursor, f"SELECT hash FROM {chain.table} WHERE position = ?", [count]) if count else None
    return Head(count or 0, last[0] or GENESIS if last else GENESIS)


def heads(cursor: Cursor) -> dict[str, Head]:
    """Return the end of each chain by its name."""
    return {chain.name: head(cursor, chain) for chain in CHAINS}


def append(cursor: Cursor, chain: Chain, columns: Mapping[str, Any], other: Head | None) -> dict[str, Any]:
    """Append an entry, in the write transaction of the change that it tells of; return all of its columns.

    columns: those of the table that are not the chain's, with values as the store holds them (float where it holds DOUBLE). The
    entry's local time is added. other: the end of the other chain, if the entry seals it. The lock of a write keeps others from
    appending meanwhile.
    """
    end, now = head(cursor, chain), datetime.now(UTC)
    entry: dict[str, Any] = {
        **columns,
        chain.time: local_of(now),
        "position": end.entries + 1,
        "form": 1,
        "previous": end.hash,
        "chained": WHEN_WRITTEN,
        "chained_at": now.replace(tzinfo=None),
    }
    if other is not None:
        entry |= {"other_entries": other.entries, "other_head": other.hash}
    entry["hash"] = chain_hash(end.hash, entry)
    marks = ", ".join("?" * len(entry))
    cursor.execute(f"INSERT INTO {chain.table} ({', '.join(entry)}) VALUES ({marks})", list(entry.values()))
    return entry


Damage = Literal["changed", "missing", "inserted", "reordered"]
Row = Mapping[str, Any]
_OWN = ("position", "form", "previous", "chained", "chained_at", "other_entries", "other_head", "hash")  # columns of the chain
_BEYOND = 1_000  # entries that somebody may have deleted before others that were then numbered again
_HASH_DIGITS = 64


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of checking a chain.

    chain: its name. head: the hash of its last entry, "" without any. upgraded: how many entries an older version wrote, which
    were chained at upgraded_at (UTC). broken_from: the number of the first entry that does not fit, None if all do; damage: what
    was done there; at: the local time that this entry states, or the one before it where it is missing; why: in words.
    """

    chain: str
    entries: int
    head: str
    upgraded: int = 0
    upgraded_at: datetime | None = None
    broken_from: int | None = None
    damage: Damage | None = None
    at: datetime | None = None
    why: str = ""

    @property
    def is_intact(self) -> bool:
        return self.broken_from is None

    def as_record(self) -> dict[str, Any]:
        """Return the finding as commands print it."""
        known = {"chain": self.chain, "intact": self.is_intact, "entries": self.entries, "head": self.head or None}
        times = {name: str(time) if time else None for name, time in (("upgraded_at", self.upgraded_at), ("at", self.at))}
        broken = {"broken_from": self.broken_from, "damage": self.damage, "why": self.why or None}
        return {**known, "upgraded": self.upgraded, **times, **broken}

    @property
    def sentence(self) -> str:
        """A description of the finding."""
        name = self.chain[:1].upper() + self.chain[1:]
        if self.broken_from is not None:
            at = f" ({self.at:%Y-%m-%d %H:%M:%S})" if self.at else ""
            return f"{name}: broken from entry {self.broken_from:,}{at}, {self.damage}: {self.why}."
        if not self.entries:
            return f"{name}: no entries yet."
        count = f"{self.entries:,} {'entry' if self.entries == 1 else 'entries'}"
        return f"{name}: intact, {count}, head {self.head}.{self._older()}"

    def _older(self) -> str:
        if not self.upgraded or self.upgraded_at is None:
            return ""
        which = "Entry 1 is" if self.upgraded == 1 else f"Entries 1 to {self.upgraded:,} are"
        return f" {which} older, chained at the upgrade on {self.upgraded_at:%Y-%m-%d}."


def verify(cursor: Cursor) -> tuple[Finding, Finding]:
    """Return the results for the ledger and the audit log: each checked alone, and against the other."""
    ledger, log = (_read(cursor, chain) for chain in CHAINS)
    of_ledger, of_log = _check(LEDGER, ledger), _check(AUDIT_LOG, log)
    sealed_ledger, sealed_log = ledger[: _intact(of_ledger, ledger)], log[: _intact(of_log, log)]
    of_log = _earlier(of_log, _compare(AUDIT_LOG, log, sealed_ledger))
    of_ledger = _earlier(of_ledger, _compare(LEDGER, ledger, sealed_log))
    if of_ledger.is_intact and of_log.is_intact:
        of_ledger, of_log = _check_counted(of_ledger, ledger, of_log, log)
    return of_ledger, of_log


def find_head(cursor: Cursor, noted: str) -> tuple[str, int] | None:
    """Return the chain and the number of the entry with this hash; None if neither has it. Raise InputError for no hash."""
    if len(noted) != _HASH_DIGITS or not set(noted) <= set("0123456789abcdef"):
        raise InputError(f"head {noted!r}: expected the {_HASH_DIGITS} hexadecimal digits of a SHA-256")
    for chain in CHAINS:
        for number, row in enumerate(_read(cursor, chain), start=1):
            if row["hash"] == noted:
                return chain.name, number
    return None


def _read(cursor: Cursor, chain: Chain) -> list[dict[str, Any]]:
    """Return all columns of all entries, by the numbers that they state. Raise StoreDamaged if the table lacks some."""
    try:
        found = cursor.execute(f"SELECT * FROM {chain.table} ORDER BY position, rowid")
    except (duckdb.CatalogException, duckdb.BinderException) as error:
        raise StoreDamaged(f"{chain.name}: the table {chain.table} cannot be read: {str(error).splitlines()[0]}") from error
    names = [column[0] for column in found.description or ()]
    missing = {*_OWN, chain.time} - set(names)
    if missing:
        raise StoreDamaged(f"{chain.name}: the table {chain.table} has no column {min(missing)}")
    return [dict(zip(names, values, strict=True)) for values in found.fetchall()]


def _check(chain: Chain, rows: Sequence[Row]) -> Finding:
    """Return the result of checking a single chain."""
    found = _summarize(chain, rows)
    previous = GENESIS
    for number, row in enumerate(rows, start=1):
        if row["position"] != number or row["previous"] != previous or row["form"] != 1 or not _fits(row):
            return _at(found, chain, rows, *_explain(rows, number, previous))
        previous = row["hash"]
    return found


def _summarize(chain: Chain, rows: Sequence[Row]) -> Finding:
    old = [row["chained_at"] for row in rows if row["chained"] == AT_UPGRADE]
    at = old[0] if old and isinstance(old[0], datetime) else None
    return Finding(chain.name, len(rows), str(rows[-1]["hash"] or "") if rows else "", len(old), at)


def _at(found: Finding, chain: Chain, rows: Sequence[Row], number: int, damage: Damage, why: str) -> Finding:
    near = [row[chain.time] for row in rows[max(number - 2, 0) : number]]
    time = near[-1] if near and (damage != "missing" or len(near) == 1) else near[0] if near else None
    return replace(found, broken_from=number, damage=damage, at=time if isinstance(time, datetime) else None, why=why)


def _fits(row: Row, position: int | None = None, own: Row | None = None) -> bool:
    """Return whether a row has the hash that its columns make. position, own: with another position, with another row's chain."""
    columns = {**row, **{name: own[name] for name in _OWN}} if own else dict(row)
    if position is not None:
        columns["position"] = position
    try:
        return bool(chain_hash(str(columns["previous"]), columns) == columns["hash"])
    except TypeError:
        return False


def _explain(rows: Sequence[Row], number: int, previous: str) -> tuple[int, Damage, str]:
    """Return the first broken entry of a chain, the cause, and the evidence. number: of the first entry that does not fit."""
    row, others = rows[number - 1], rows[number:]
    if row["hash"] is None:
        return number, "inserted", "it has no hash"
    entries = len(rows)
    stated = [row["position"]] if isinstance(row["position"], int) else []
    written = next((number for number in (*stated, *range(1, entries + _BEYOND)) if _fits(row, number)), None)
    if written is None:
        if others and others[0]["previous"] == previous and _fits(others[0], number):
            return number, "inserted", "the entry behind it was written in its place"
        if any(_fits(row, own=other) for other in rows if other is not row):
            return number, "reordered", "it stands with the hash of another entry"
        return number, "changed", "its hash is not that of what it says"
    if written > number:
        moved = any(_fits(other, number) for other in others)
        if moved:
            return number, "reordered", f"in its place stands what was written as entry {written:,}"
        return number, "missing", f"entry {written:,} follows" if written > number + 1 else "the entry behind it follows"
    if written < number:
        return written, "inserted", "two entries follow the one before"
    if number > 1:
        return number - 1, "changed", "the entry behind it has another hash of it"
    return number, "changed", "it names an entry before the first"


def _intact(found: Finding, rows: Sequence[Row]) -> int:
    return len(rows) if found.broken_from is None else found.broken_from - 1


def _compare(chain: Chain, rows: Sequence[Row], sealed_by: Iterable[Row]) -> Finding:
    """Return the result of checking this chain against the entries of the other one. sealed_by: those of them that are intact."""
    found = _summarize(chain, rows)
    for row in sealed_by:
        count = row["other_entries"]
        if not count:
            continue
        if count > len(rows):
            missing = len(rows) + 1
            until = f"entries {missing:,} to {count:,} were" if count > missing else f"entry {missing:,} was"
            return _at(found, chain, rows, missing, "missing", f"{until} there when {_entry_of_other(chain, row)} was written")
        if rows[count - 1]["hash"] != row["other_head"]:
            why = f"it or one before it has another hash than when {_entry_of_other(chain, row)} was written"
            found = _earlier(found, _at(found, chain, rows, count, "changed", why))
    return found


def _entry_of_other(chain: Chain, row: Row) -> str:
    return f"entry {row['position']:,} of the {LEDGER.name if chain is AUDIT_LOG else AUDIT_LOG.name}"


def _earlier(first: Finding, second: Finding) -> Finding:
    """Return the finding that is broken from an earlier entry; the first if both are from the same."""
    if second.broken_from is None or (first.broken_from is not None and first.broken_from <= second.broken_from):
        return first
    return second


def _check_counted(of_ledger: Finding, ledger: Sequence[Row], of_log: Finding, log: Sequence[Row]) -> tuple[Finding, Finding]:
    """Return both findings with what shows only in both together: each entry of the ledger is followed by a line of the log."""
    counted = next((row["other_entries"] for row in reversed(log) if row["other_entries"] is not None), 0)
    if counted >= len(ledger):
        return of_ledger, of_log
    number, before = counted + 1, ledger[counted]["other_entries"] or 0
    if before >= len(log):
        why = f"the line of entry {number:,} of the ledger would stand here"
        return of_ledger, _at(of_log, AUDIT_LOG, log, len(log) + 1, "missing", why)
    return _at(of_ledger, LEDGER, ledger, number, "inserted", "no line of the audit log counts it"), of_log
