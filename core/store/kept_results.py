"""Results that are kept, such as the scores of runs, so that nobody waits for them a second time.

A result is kept on a basis, a text that says what it followed from; on another one it is as good as
not kept, and is computed and put again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from core.store.connection import Cursor
from core.store.queries import one


def find(cursor: Cursor, name: str, bases: Mapping[str, str]) -> dict[str, str]:
    """Return the records of a name that are kept on these bases, by what they are about: the id of
    a run or dataset."""
    result = cursor.execute(
        "SELECT subject, basis, record FROM kept_result WHERE name = ? AND list_contains(?,"
        " subject)",
        [name, list(bases)],
    )
    return {of: record for of, basis, record in result.fetchall() if bases[of] == basis}


def put(cursor: Cursor, name: str, found: Iterable[tuple[str, str, str]]) -> None:
    """Keep (subject, basis, record) in the place of what was kept."""
    cursor.executemany(
        "INSERT OR REPLACE INTO kept_result VALUES (?, ?, ?, ?)",
        [(name, *result) for result in found],
    )


def labels_basis(cursor: Cursor, dataset: str) -> str:
    """Return a text that changes with the rows and labels of a dataset (id), and with how its runs
    are judged."""
    basis = one(
        cursor,
        """SELECT count(*), bit_xor(hash(pair_id, pert, gene, label, split, position)),
             (SELECT (headline, false_share, nominal_share, confounded) FROM dataset WHERE id = ?)
           FROM pair WHERE dataset = ?""",
        [dataset, dataset],
    )
    return repr(basis)
