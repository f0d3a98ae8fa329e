"""The clash of a run's debates: of each side's points, how many are answered, ignored, or taken up by the judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

import numpy as np
import pandas as pd

from core.audit.clash import STATUSES, Point
from core.audit.rubric import Rubric
from core.base.result import plain
from core.features.arguments.worth import RubricWorth, load_outcomes, rubric_worth
from core.scoring.run_scores import load_scored_rows
from core.store import Cursor, predictions, rubrics, traces
from core.store.runs import Run
from core.texts import table_lines

OUTCOMES: Final[Mapping[str | None, str]] = {"hit": "right", "miss": "wrong", None: "not known"}
_POINT = tuple(field.name for field in fields(Point))
MOST_LISTED = 20  # points in the lines; the JSON has all
_OF_DEBATE = ("pair_id", "stage", "debate")


@dataclass(frozen=True, slots=True)
class ClashCount:
    """Numbers of points of one side, in the rows of one outcome. debates: the read ones. answered, ignored, unclear: see
    `core.audit.clash.Point`. judged: points in debates whose judge gives reasons; decisive: judged points that the judge
    mentions; decisive_ignored: decisive points that no side answered.
    """

    side: str
    outcome: str
    debates: int
    points: int
    answered: int
    ignored: int
    unclear: int
    judged: int
    decisive: int
    decisive_ignored: int


@dataclass(frozen=True, slots=True, eq=False)
class RunClash:
    """The clash of a run's debates.

    points: one per row, in file order: pair_id, stage, debate, outcome ("right", "wrong", "unknown"), has_verdict, and the
    fields of `Point`. debates: number of read ones; judged: number with a judge who gives reasons; unread: number with an
    unreadable answer. quotes, not_found: numbers of the reader's quotations that are in the debate, and that are not. replies:
    whether its sides reply to each other. worth: of ignored points, if rows have labels.
    """

    run: Run
    reading: Run
    points: pd.DataFrame
    counts: tuple[ClashCount, ...]
    debates: int
    judged: int
    unread: int
    quotes: int
    not_found: int
    replies: bool
    worth: RubricWorth | None


def load_clash(db: Cursor, run: Run, reading: Run) -> RunClash:
    """Return the clash of a run's debates as a finished reading of the method `clash` has it."""
    metas = [(pair_id, stage, json.loads(meta)) for pair_id, stage, meta in rubrics.clash_events(db, reading.id)]
    outcomes = predictions.list_rows(db, run.id, list(dict.fromkeys(pair_id for pair_id, *_ in metas))).set_index("pair_id")
    of_row = {str(key): value if isinstance(value, str) else None for key, value in outcomes["outcome"].items()}
    debates = pd.DataFrame(
        [
            (pair_id, stage, meta["debate"], OUTCOMES[of_row[pair_id]], meta["has_verdict"], side)
            for pair_id, stage, meta in metas
            if "points" in meta
            for side in meta["sides"]
        ],
        columns=[*_OF_DEBATE, "outcome", "has_verdict", "side"],
    )
    points = pd.DataFrame(
        [
            (pair_id, stage, meta["debate"], OUTCOMES[of_row[pair_id]], meta["has_verdict"], *(point[name] for name in _POINT))
            for pair_id, stage, meta in metas
            for point in meta.get("points", ())
        ],
        columns=[*_OF_DEBATE, "outcome", "has_verdict", *_POINT],
    )
    return RunClash(
        run,
        reading,
        points,
        tuple(_count(debates, points)),
        debates=len(metas),
        judged=sum(meta["has_verdict"] for *_, meta in metas),
        unread=sum("points" not in meta for *_, meta in metas),
        quotes=int((points[["point", "answer", "verdict"]] != "").sum().sum()),
        not_found=sum(meta.get("not_found", 0) for *_, meta in metas),
        replies="rebuttal" in traces.text_counts(db, run.id),
        worth=_worth(db, run, debates, points),
    )


def points_of_row(db: Cursor, run: str, pair_id: str) -> list[tuple[str, Point]]:
    """Return the points of a row's debates, each with its stage, from the newest finished reading of a run (id)."""
    metas = ((stage, json.loads(meta)) for stage, meta in rubrics.clash_of_row(db, run, pair_id))
    return [(stage, Point(**point)) for stage, meta in metas for point in meta.get("points", ())]


def _count(debates: pd.DataFrame, points: pd.DataFrame) -> Iterator[ClashCount]:
    """Yield the counts of each side; if there are several outcomes, all of them together come first."""
    known = [outcome for outcome in OUTCOMES.values() if (debates["outcome"] == outcome).any()]
    for side in dict.fromkeys(debates["side"]):
        for outcome in (["all"] if len(known) > 1 else []) + known:
            held, own = (frame[frame["side"] == side] for frame in (debates, points))
            if outcome != "all":
                held, own = held[held["outcome"] == outcome], own[own["outcome"] == outcome]
            of_status = own["status"].value_counts()
            decisive = own[own["verdict"] != ""]
            answered, ignored, unclear = (int(of_status.get(status, 0)) for status in STATUSES)
            yield ClashCount(
                str(side),
                outcome,
                debates=len(held),
                points=len(own),
                answered=answered,
                ignored=ignored,
                unclear=unclear,
                judged=int(own["has_verdict"].sum()),
                decisive=len(decisive),
                decisive_ignored=int((decisive["status"] == "ignored").sum()),
            )


def _worth(db: Cursor, run: Run, debates: pd.DataFrame, points: pd.DataFrame) -> RubricWorth | None:
    """Compare rows with and without ignored points; None for a run without labels."""
    rows = load_scored_rows(db, run.id)
    if not rows.arrays.outcome.labelled.any() or debates.empty:
        return None
    ignored = points[points["status"] == "ignored"]
    chosen = {
        "ignored point": ignored,
        "decisive ignored point": ignored[ignored["verdict"] != ""],
    }
    read = debates["pair_id"].drop_duplicates()
    readings = [
        (
            Rubric(name, f"Has a debate of the row an {name}?", unit="row"),
            pd.DataFrame({"pair_id": read, "answer": np.where(read.isin(having["pair_id"]), "yes", "no")}),
        )
        for name, having in chosen.items()
        if 0 < having["pair_id"].nunique() < len(read)  # else there is nothing to compare
    ]
    return rubric_worth(rows, load_outcomes(db, rows), readings)


def describe_clash(found: RunClash) -> str:
    """Describe the number of read debates, the reader, and the share of real quotations."""
    words = [f"{found.reading.model} read {found.debates:,} debates of {found.run.name}."]
    if found.unread:
        words.append(f"{found.unread:,} of its answers could not be read.")
    if found.unread == found.debates:
        return " ".join(words)
    words.append(
        f"{found.not_found:,} of {found.quotes + found.not_found:,} quotations are not in the text; they are not shown."
        if found.not_found
        else f"All {found.quotes:,} quotations are in the text word for word."
    )
    if not found.replies:
        words.append("The sides wrote without seeing each other, so an answer only happens to match the point.")
    if found.judged < found.debates:
        words.append(
            f"In {found.debates - found.judged:,} debates the judge gives no reason, so the decisive points are unknown."
        )
    return " ".join(words)


def describe_points(found: RunClash) -> list[str]:
    """Return what is found as lines: a sentence, the counts by side, the worth, and the first points."""
    counts = table_lines([asdict(count) for count in found.counts])
    lines = [describe_clash(found), "", *counts] if counts else [describe_clash(found)]
    lines += ["", found.worth.sentence] if found.worth else []
    shown = found.points.head(MOST_LISTED)
    lines += ["", f"{len(shown):,} of {len(found.points):,} points:"] if len(shown) else []
    row: Any
    for row in shown.itertuples():
        lines.append(f"  {row.pair_id} {row.side}, {row.status}{', decisive' if row.verdict else ''}: {row.point}")
        lines += [f"    {row.answered_by}: {row.answer}"] if row.answer else []
        lines += [f"    JUDGE: {row.verdict}"] if row.verdict else []
    return lines


def as_json(found: RunClash) -> dict[str, Any]:
    """Return the numbers, and every point."""
    return {
        "run": found.run.name,
        "reading": found.reading.id,
        "model": found.reading.model,
        **{name: getattr(found, name) for name in ("debates", "judged", "unread", "quotes", "not_found", "replies")},
        "counts": [asdict(count) for count in found.counts],
        "worth": [] if found.worth is None else plain(found.worth.rubrics),
        "points": found.points.to_dict("records"),
        "sentences": [describe_clash(found)],
    }


def list_counts(counts: Sequence[ClashCount]) -> pd.DataFrame:
    """Return the counts as a table: a line for each side and outcome, with the fields of `ClashCount`."""
    return pd.DataFrame([asdict(count) for count in counts], columns=[field.name for field in fields(ClashCount)])
