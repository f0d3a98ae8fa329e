"""Two chains of hashes, the audit log and the ledger: entries are appended, and each seals all before it.

An entry holds the hash of the one before and of its own columns (`frozen.hash_chain_1`). An entry of the ledger also has the end
of the audit log, and the line that tells of it the end of the ledger, so that neither loses entries unseen by the other.
`chain_check` says what does not fit. Whoever can write the file can make both chains anew; only a head that was noted elsewhere
shows that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from core.clock import local_of
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
    """The end of a chain. hash: of its last entry, GENESIS if there is none."""

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
