"""The ledger of hypotheses: entries are added and read; nothing here changes or deletes one."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Literal

from core.base.row_schema import local_of
from core.store.connection import Cursor
from core.store.queries import insert_values

Source = Literal["here", "published elsewhere"]
HERE: Source = "here"
PUBLISHED: Source = "published elsewhere"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the ledger. What is unknown is None. A hypothesis is known by source, dataset and
    name.

    hypothesis, prediction: the claim, and what will be seen if it is true. dataset: a name. metric,
    smallest_effect: the rule that decides. run_a, run_b: ids of the runs compared, b - a; name_a,
    name_b: their names then, or those of arms or methods. experiment: its name. measured_on: on
    which rows. scored: how both were scored. score_a, score_b: in the metric; score_se: standard
    error of one of them. estimate, low, high, se: of the difference. df: of Student's t, None for
    the normal distribution. z: the difference in standard errors. n: rows behind it. detectable:
    the smallest difference that would have been seen. public: the leaderboard's score of what was
    tested. seen_before: whether the runs had their result when the hypothesis was registered;
    unknown of what was published elsewhere. position: its place in the ledger, from 1.
    """

    kind: Literal["registration", "result"]
    name: str
    hypothesis: str
    source: Source
    position: int = 0
    prediction: str | None = None
    dataset: str | None = None
    metric: str | None = None
    smallest_effect: float | None = None
    run_a: str | None = None
    run_b: str | None = None
    name_a: str | None = None
    name_b: str | None = None
    experiment: str | None = None
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
    detectable: float | None = None
    verdict: str | None = None
    public: float | None = None
    seen_before: bool | None = None
    note: str | None = None
    author: str = ""
    written_at: datetime | None = None
    code_version: str = ""

    @property
    def about(self) -> tuple[str, str | None, str]:
        """What distinguishes its hypothesis from all others."""
        return self.source, self.dataset, self.name

    @property
    def content(self) -> Entry:
        """The entry without its place, its author and its time."""
        return replace(
            self, position=0, seen_before=None, author="", written_at=None, code_version=""
        )


_COLUMNS = tuple(column.name for column in fields(Entry))


def add(cursor: Cursor, entry: Entry) -> Entry:
    """Add an entry, dated now, at the end of the ledger."""
    [[last]] = cursor.execute("SELECT coalesce(max(position), 0) FROM hypothesis").fetchall()
    added = replace(entry, position=last + 1, written_at=local_of(datetime.now(UTC)))
    insert_values(cursor, "hypothesis", {name: getattr(added, name) for name in _COLUMNS})
    return added


def list_all(cursor: Cursor) -> list[Entry]:
    """Return every entry, in the order of writing."""
    rows = cursor.execute(
        f"SELECT {', '.join(_COLUMNS)} FROM hypothesis ORDER BY position"
    ).fetchall()
    return [Entry(**dict(zip(_COLUMNS, row, strict=True))) for row in rows]
