"""The ledger of hypotheses: entries are added and read; nothing here changes or deletes one."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Literal

from core.clock import local_of
from core.store.connection import Cursor
from core.store.queries import insert_values, one

EntryKind = Literal["registration", "result"]
Source = Literal["here", "published elsewhere"]
HERE: Source = "here"
PUBLISHED: Source = "published elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the ledger. What is unknown is None.

    first: the id of the first entry about the hypothesis, its own if it is that one. name, hypothesis, prediction: the claim, and
    the prediction if it is true. dataset: a name. metric, level, unit, smallest_effect: the rule. run_a, run_b: ids of the runs
    compared, b - a; name_a, name_b: their names then, or those of the methods. benchmark: its name. measured_on: "labelled rows"
    or "public leaderboard". scored: how both were scored. score_a, score_b: in the metric; score_se: standard error of one of
    them. estimate, low, high, se: of the difference. df: of Student's t, None for the normal distribution. z: the difference in
    standard errors. n: rows behind it. detectable: the smallest difference that would have been seen; detectable_low: where it
    was published as a range, its lower end. reason: of the verdict. public_a, public_b: public scores of the runs. seen_before:
    whether the runs compared had their result when the hypothesis was registered; of what was published elsewhere it is unknown.
    position: its place in the ledger.
    """

    kind: EntryKind
    name: str
    hypothesis: str
    source: Source
    id: str = ""
    first: str = ""
    position: int = 0
    prediction: str | None = None
    dataset: str | None = None
    metric: str | None = None
    level: str | None = None
    unit: str | None = None
    smallest_effect: float | None = None
    run_a: str | None = None
    run_b: str | None = None
    name_a: str | None = None
    name_b: str | None = None
    benchmark: str | None = None
    measured_on: str | None = None
    scored: str | None = None
    score_a: float | None = None
    score_b: float | None = None
    score_se: float | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    se: float | None = None
    df: float | None = None
    z: float | None = None
    n: int | None = None
    detectable_low: float | None = None
    detectable: float | None = None
    verdict: str | None = None
    reason: str | None = None
    public_a: float | None = None
    public_b: float | None = None
    seen_before: bool | None = None
    note: str | None = None
    author: str = ""
    written_at: datetime | None = None
    code_version: str = ""

    def same_content(self, other: Entry) -> bool:
        """Return whether both have the same content, regardless of author and time."""
        return all(getattr(self, name) == getattr(other, name) for name in _CONTENT)


_COLUMNS = tuple(column.name for column in fields(Entry))
_OF_WRITING = {"id", "first", "position", "author", "written_at", "code_version", "seen_before"}
_CONTENT = tuple(name for name in _COLUMNS if name not in _OF_WRITING)


def add(cursor: Cursor, entry: Entry, new_id: str) -> Entry:
    """Add an entry under a new id, dated now, at the end of the ledger, linked to the first about its hypothesis.

    Hypotheses of one source and dataset are distinguished by their names.
    """
    [last, first] = one(
        cursor,
        """SELECT max(position), min_by(id, position) FILTER (name = ? AND source = ?
             AND dataset IS NOT DISTINCT FROM ?) FROM hypothesis""",
        [entry.name, entry.source, entry.dataset],
    ) or (None, None)
    added = replace(
        entry,
        id=new_id,
        first=first or new_id,
        position=(last or 0) + 1,
        written_at=local_of(datetime.now(UTC)),
    )
    insert_values(cursor, "hypothesis", {name: getattr(added, name) for name in _COLUMNS})
    return added


def list_all(cursor: Cursor) -> list[Entry]:
    """Return every entry, in the order of writing."""
    rows = cursor.execute(f"SELECT {', '.join(_COLUMNS)} FROM hypothesis ORDER BY position").fetchall()
    return [_record(row) for row in rows]


def _record(row: tuple[Any, ...]) -> Entry:
    return Entry(**dict(zip(_COLUMNS, row, strict=True)))
