"""Two chains of hashes: their form is exact, and processes that write at once make one chain."""

from __future__ import annotations

import hashlib
import math
import re
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from core.config import REPOSITORY
from core.store import Store, chain, changes, hypotheses
from core.store.frozen.hash_chain_1 import GENESIS, canonical_form, chain_hash
from core.store.hypotheses import HERE, Entry

PROCESSES, CHANGES = 3, 5
WRITER = """
import sys
from dataclasses import asdict
from pathlib import Path
from core.store import Store, chain, changes, hypotheses
from core.store.hypotheses import HERE, Entry
folder, name = Path(sys.argv[1]), sys.argv[2]
store = Store(folder / "desk.duckdb", folder / "cache")
for number in range(int(sys.argv[3])):
    with store.write() as db:
        hypotheses.add(db, Entry(kind="registration", name=name, hypothesis=str(number), source=HERE), f"{name}{number}")
        changes.record(db, name, "register hypothesis", str(number), {"ledger": asdict(chain.head(db, chain.LEDGER))})
"""


def test_the_canonical_form_is_exact() -> None:
    """Worked out by hand: sorted by column, typed, without what has no value and without the hash itself."""
    at = datetime(2026, 1, 2, 3, 4, 5, 6)
    row = {"b": 1.5, "a": "é\n", "t": at, "n": None, "hash": "x", "ok": True, "i": -3, "z": at.replace(tzinfo=UTC)}
    expected = (
        r'[["a","text","\u00e9\n"],["b","float","0x1.8000000000000p+0"],["i","int","-3"],["ok","bool","true"],'
        r'["t","time","2026-01-02T03:04:05.000006"],["z","time","2026-01-02T03:04:05.000006Z"]]'
    )
    assert canonical_form(row) == expected
    text = f"perturbdesk-chain 1\n{'0' * 64}\n{expected}".encode()
    assert chain_hash(GENESIS, row) == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (0.0, -0.0),
        (0.1, math.nextafter(0.1, 1)),
        (None, ""),
        (None, "None"),
        (math.nan, None),
        (math.nan, math.inf),
        ("2026-01-02T03:04:05.000000", datetime(2026, 1, 2, 3, 4, 5)),
        (datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2, 3, 4, 5, 1)),
        (datetime(2026, 1, 2, 3, 4, 5), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ('{"a": 1}', '{"a":1}'),
        ("\u00e9", "e\u0301"),
    ],
)
def test_different_values_have_different_forms(one: object, other: object) -> None:
    assert canonical_form({"x": one}) != canonical_form({"x": other})


def test_a_time_with_a_zone_is_in_utc() -> None:
    east = datetime(2026, 1, 2, 3, 0, tzinfo=timezone(timedelta(hours=3)))
    assert canonical_form({"x": east}) == canonical_form({"x": datetime(2026, 1, 2, tzinfo=UTC)})


def test_a_value_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match="of type bytes"):
        canonical_form({"x": b"1"})


@pytest.mark.soak
def test_an_entry_holds_what_the_store_gives_back(tmp_path: Path) -> None:
    """Whole numbers in columns of fractions, texts beyond ASCII, NaN: the hash is of what is stored."""
    store = Store(tmp_path / "desk.duckdb", tmp_path / "cache")
    entry = Entry(
        kind="result", name="é \x00 \U0001f9ec", hypothesis='"', source=HERE, smallest_effect=1, z=math.nan, se=-0.0, n=3
    )
    with store.write() as db:
        added = hypotheses.add(db, entry, "id")
        head = asdict(chain.head(db, chain.LEDGER))
        line = changes.record(db, "Ada", "x", "y", {"ledger": head, "b": 1, "a": {"d": [None, 0.1], "c": "é"}})
        assert line == chain.head(db, chain.AUDIT_LOG)
    with store.read() as db:
        assert [each.is_intact for each in chain.verify(db)] == [True, True]
        assert hypotheses.list_all(db)[0].id == added.id
        [(detail,)] = db.execute("SELECT detail FROM trail").fetchall()
    assert detail.startswith('{"a": {"c": "\\u00e9", "d": [null, 0.1]}, "b": 1, "ledger": {"entries": 1, "hash": "')


@pytest.mark.soak
def test_a_change_that_fails_leaves_no_link(tmp_path: Path) -> None:
    store = Store(tmp_path / "desk.duckdb", tmp_path / "cache")
    for number in range(3):
        try:
            with store.write() as db:
                changes.record(db, "Ada", "x", str(number), {})
                if number == 1:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            continue
    with store.read() as db:
        assert chain.verify(db)[1].entries == chain.head(db, chain.AUDIT_LOG).entries == 2
        assert chain.verify(db)[1].is_intact


@pytest.mark.soak
def test_processes_that_write_at_once_make_one_chain(tmp_path: Path) -> None:
    store = Store(tmp_path / "desk.duckdb", tmp_path / "cache")
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    writers = [subprocess.Popen([*command, f"w{n}", str(CHANGES)], cwd=REPOSITORY) for n in range(PROCESSES)]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * PROCESSES
    with store.read() as db:
        ledger, log = chain.verify(db)
        [(authors,)] = db.execute("SELECT count(DISTINCT author) FROM trail").fetchall()
    assert (ledger.is_intact, log.is_intact, ledger.entries, log.entries) == (True, True, *[PROCESSES * CHANGES] * 2)
    assert authors == PROCESSES


@pytest.mark.soak
def test_no_code_changes_or_deletes_an_entry() -> None:
    """Of all SQL, the migration that chains older entries alone."""
    rewrites = re.compile(r"(?:UPDATE|DELETE FROM|INSERT INTO|TRUNCATE)\s+(?:trail|hypothesis)\b", re.IGNORECASE)
    found = {path.name for path in (REPOSITORY / "core").rglob("*.py") if rewrites.search(path.read_text("utf-8"))}
    assert found == {"migrations.py"}
