"""The entries of the ledger of hypotheses, the rule that decides one, and files of entries that
others published. Entries are added and read; nothing here changes or deletes one.

A published difference is judged by the rule of here, but none is claimed which the leaderboard
detects with less than 80% power.
"""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

from core.base.errors import InputError
from core.base.experiment import Metric
from core.base.fields.record import check_values, make, options_of, values_of
from core.base.fields.setting import Effect, setting
from core.base.row_schema import local_of
from core.features.experiments.result import METRICS
from core.stats.comparison import verdict_of
from core.stats.intervals import Interval, normal_interval
from core.stats.power import detectable_difference
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


@dataclass(frozen=True, slots=True)
class DecisionRule:
    """The rule that decides a hypothesis: the metric, and the smallest difference that matters, by
    the interval of perturbations and genes. Raise SettingError for other values."""

    metric: Annotated[
        Metric, setting("The primary metric.", title="Primary metric", words=METRICS)
    ] = "mean"
    smallest_effect: Annotated[
        Effect,
        setting(
            "The smallest difference that matters, in AUROC or hit rate.",
            title="Smallest effect that matters",
            option="--smallest",
            key="effect",
        ),
    ] = 0.01

    def __post_init__(self) -> None:
        check_values(self)


def judged(entry: Entry, change: Interval, smallest: float) -> Entry:
    """Return an entry as a result: the difference with its verdict."""
    return replace(
        entry,
        kind="result",
        estimate=change.estimate,
        low=_finite(change.low),
        high=_finite(change.high),
        se=_finite(change.se),
        df=_finite(change.df),
        z=change.estimate / change.se if change.se > 0 else None,
        n=change.n or None,
        detectable=_finite(detectable_difference(change.se, df=change.df)),
        verdict=verdict_of(change, smallest),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


LADDER = Path(__file__).with_name("published_ladder.csv")
Positive = Annotated[Annotated[float, Gt(0)] | None, setting("A number above 0.")]
Text = Annotated[str | None, setting("A text.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedLine:
    """A line of a file of results that others published. z: the difference in standard errors, with
    the sign of score_b - score_a; the other fields are those of `Entry`."""

    name: Annotated[str, setting("The hypothesis's name.")]
    hypothesis: Annotated[str, setting("What is claimed.")]
    dataset: Annotated[str, setting("On which rows it was tested.")]
    z: Annotated[float, setting("The difference in standard errors.")]
    prediction: Text = None
    metric: Annotated[Metric | None, setting("The score that decides.")] = None
    name_a: Text = None
    name_b: Text = None
    measured_on: Text = None
    note: Text = None
    n: Annotated[Annotated[int, Ge(1), Le(1_000_000_000)] | None, setting("Rows.")] = None
    score_a: Positive = None
    score_b: Positive = None
    score_se: Positive = None
    detectable: Positive = None


def read_published(content: bytes, name: str) -> list[Entry]:
    """Return the results of a CSV file whose columns are those of `PublishedLine`, in its order.
    Raise InputError that names the line of a wrong value."""
    try:
        text = io.StringIO(content.decode("utf-8-sig"), newline="")
        rows = list(csv.DictReader(text, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{name}: {error}, expected a CSV file") from None
    if not rows:
        columns = ", ".join(option.name for option in options_of(PublishedLine))
        raise InputError(f"{name}: got no line, expected a CSV file with columns of {columns}")
    entries: dict[tuple[str, str | None, str], Entry] = {}
    for line, row in enumerate(rows, 2):
        try:
            given = {column: value for column, value in row.items() if value}
            entry = _entry_of(make(PublishedLine, given))
            if entry.about in entries:
                raise InputError(f"name: got {entry.name}, expected a name once for each dataset")
        except InputError as error:
            raise InputError(f"{name}, line {line}: {error}") from error
        entries[entry.about] = entry
    return [*entries.values()]


def _entry_of(line: PublishedLine) -> Entry:
    """Return the result of a line. Where the score compared with is unknown, z alone is judged."""
    entry = Entry(kind="result", source=PUBLISHED, public=line.score_b, **values_of(line))
    has_scores = line.score_a is not None and line.score_b is not None
    change = round((line.score_b or 0) - (line.score_a or 0), 12) if has_scores else line.z
    if line.z * change <= 0:
        sign = "a number other than 0, with the sign of score_b - score_a"
        raise InputError(f"z: got {line.z:g}, expected {sign}")
    variance = float(np.square(change / line.z))
    interval = normal_interval(
        change, variance, line.n or 0, "row", "as published", (-np.inf, np.inf)
    )
    known = line.detectable if has_scores else None
    least = detectable_difference(interval.se) if known is None else known
    result = judged(entry, interval, least)
    verdict = result.verdict if abs(change) >= least else "undecided"
    if not has_scores:
        return replace(entry, verdict=verdict)
    return replace(result, detectable=least, verdict=verdict)
