"""What a row asked again shows: how its answers change with another dossier, beside how they change
when nothing is changed.

Every repeat is one asking: P(DE) and P(up | DE) under its own seeds. An exact permutation test of
the difference of means compares the askings with the changed dossier with those with the dossier as
it was. Each of the two numbers has a p, with Holm over both. The run's own answer is shown too, but
counts on neither side: it is a single asking.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from core.base.errors import StateError
from core.base.result import Figure, Table
from core.base.texts import number_text
from core.features.asking.changed_cards import CardChange, describe_changes, read_changes
from core.stats.multiplicity import holm
from core.stats.permutations import permutation_test
from core.stats.power import LEVEL
from core.store import predictions, runs, traces
from core.store.connection import Cursor
from core.store.runs import Run

# A number of a row → the stage of the debate with the answer, and its column in the predictions.
NUMBERS = {"P(DE)": ("de", "p_de"), "P(up | DE)": ("dir", "p_up_given_de")}
COLUMNS = {  # of the table → the field of an answer
    "in the run": "stands",
    "asked again": "mean_unchanged",
    "SD": "sd",
    "changed": "mean_changed",
    "change": "delta",
    "p": "p",
    "p (Holm)": "p_holm",
}
Answers = tuple[float, ...]  # one of each asking that could be read
LIMITS = (
    "This is about one row and one change: of many cards that are tried one by one, some lie"
    " outside by chance. An experiment of the kind tools tests them over many rows."
)


@dataclass(frozen=True, slots=True)
class AnswerChange:
    """One number of the row. stands: in the run, NaN if unknown. changed: empty without a change.
    sd: of the unchanged askings.

    p_holm: over both numbers. smallest_p: that so many askings can have. Each is NaN where it is
    unknown.
    """

    name: str
    stands: float
    unchanged: Answers
    changed: Answers
    sd: float
    mean_unchanged: float
    mean_changed: float
    delta: float
    p: float
    p_holm: float
    smallest_p: float
    json_properties = ("outside",)

    @property
    def outside(self) -> bool:
        """Whether the change exceeds that of asking again, at 5% over both numbers."""
        return self.p_holm <= LEVEL

    @property
    def can_show(self) -> bool:
        """Whether so many askings can show any change: twice the smallest p is at most 5%."""
        return len(NUMBERS) * self.smallest_p <= LEVEL

    @property
    def sentence(self) -> str:
        """The change beside that of asking again, or the range of asking again if nothing was
        changed."""
        if math.isnan(self.delta):
            if not self.unchanged:
                return f"{self.name} has no answer that could be read."
            low, high = (number_text(end(self.unchanged)) for end in (min, max))
            return f"{self.name} is {low} to {high} when asked again with nothing changed."
        p = f"p {number_text(self.p)}, after Holm over both numbers {number_text(self.p_holm)}"
        side = f"{'outside' if self.outside else 'inside'} the range of asking again ({p})"
        if not self.can_show:
            side = "so few askings can show no change, however large: ask more often"
        means = f"{number_text(self.mean_unchanged)} to {number_text(self.mean_changed)}"
        sizes = f"{len(self.changed)} against {len(self.unchanged)} askings"
        return (
            f"{self.name} moves from {means} ({number_text(self.delta, '+.3f')}; {sizes}): {side}."
        )

    @property
    def row(self) -> dict[str, Any]:
        """The number as a row of a table."""
        numbers = {title: getattr(self, name) for title, name in COLUMNS.items()}
        return {
            "answer": self.name,
            **{title: None if math.isnan(each) else each for title, each in numbers.items()},
            "answers asked again": _text(self.unchanged),
            "answers changed": _text(self.changed),
        }


@dataclass(frozen=True, slots=True)
class RowAskedAgain:
    """A row asked again. run: the name of the debate. judge_only: whether its stored briefs were
    judged again. changed_run: None if nothing was changed. unread: how many answers could not be
    read. tokens: of both runs, None if unknown."""

    run: str
    row: str
    judge_only: bool
    repeats: int
    changes: tuple[CardChange, ...]
    answers: tuple[AnswerChange, ...]
    unread: int
    unchanged_run: str
    changed_run: str | None
    tokens: int | None

    @property
    def title(self) -> str:
        """The title of a figure of it."""
        return f"{self.row} asked again"

    @property
    def scope(self) -> str:
        """Who was asked, how often, and with which dossier."""
        who = "the judge alone, on the stored briefs" if self.judge_only else "the whole debate"
        tokens = "" if self.tokens is None else f"; {self.tokens:,} tokens"
        return (
            f"{self.row} of {self.run}, {who}, {self.repeats} times each; dossier:"
            f" {describe_changes(self.changes)}{tokens}"
        )

    @property
    def sentence(self) -> str:
        """Both numbers in words."""
        return " ".join(each.sentence for each in self.answers)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What could not be read, and that this is one row."""
        found = (
            [
                f"{self.unread:,} answer{'s' * (self.unread != 1)} could not be read and are left"
                " out."
            ]
            if self.unread
            else []
        )
        return (*found, LIMITS) if self.changed_run else tuple(found)

    def tables(self) -> tuple[Table, ...]:
        """Return both numbers."""
        return (Table("Answers", tuple(each.row for each in self.answers), ("change",)),)

    def figure(self) -> Figure | None:
        """Return None: the table has every answer."""
        return None


def row_asked_again(
    db: Cursor, pair_id: str, unchanged: str, changed: str | None = None
) -> RowAskedAgain:
    """Return what two runs that asked about a row again show, or the unchanged one alone.

    unchanged, changed: ids. Raise StateError if a run is not done or could not ask.
    """
    made = [runs.find(db, run) for run in (unchanged, changed) if run is not None]
    asked = [answers_of_row(db, run, pair_id) for run in made]
    of, options = runs.find(db, made[0].parents[0]), made[0].spec["options"]
    sides = [
        {name: tuple(p for p in answers if p is not None) for name, answers in side.items()}
        for side in asked
    ]
    row = predictions.row(db, of.id, pair_id)
    stands = {
        name: math.nan if row[column] is None else row[column]
        for name, (_, column) in NUMBERS.items()
    }
    return RowAskedAgain(
        run=of.name,
        row=pair_id,
        judge_only=options["ask"] == "judge",
        repeats=options["repeats"],
        changes=read_changes(made[-1].spec["options"]["changes"]),
        answers=compare_answers(
            stands, sides[0], sides[1] if len(sides) > 1 else dict.fromkeys(NUMBERS, ())
        ),
        unread=sum(p is None for side in asked for answers in side.values() for p in answers),
        unchanged_run=unchanged,
        changed_run=changed,
        tokens=(
            None
            if any(run.tokens is None for run in made)
            else sum(run.tokens or 0 for run in made)
        ),
    )


def answers_of_row(db: Cursor, run: Run, pair_id: str) -> dict[str, list[float | None]]:
    """Return both numbers of each asking: the mean over a repeat's verdicts that could be read,
    None without any."""
    row = predictions.row(db, run.id, pair_id) if run.status == "done" else None
    if row is None or row["error"]:
        why = f"failed: {row['error']}" if row is not None else f"is {run.status}"
        raise StateError(
            f"run {run.name}: {why}, so there is no answer to compare; expected a finished run: use"
            " `jobs retry`"
        )
    events = traces.of_row(db, run.id, pair_id)
    table = pd.DataFrame(
        [{"stage": event["stage"], **event["meta"]} for event in events],
        columns=["stage", "again", "p", "fallback"],
    )
    read = table[table["p"].notna() & table["fallback"].ne(True)]
    means = read["p"].astype(float).groupby([read["stage"], read["again"]]).mean().to_dict()
    repeats = range(1, run.spec["options"]["repeats"] + 1)
    return {
        name: [means.get((stage, repeat)) for repeat in repeats]
        for name, (stage, _) in NUMBERS.items()
    }


def compare_answers(
    stands: Mapping[str, float], unchanged: Mapping[str, Answers], changed: Mapping[str, Answers]
) -> tuple[AnswerChange, ...]:
    """Return both numbers with their tests, by the names in NUMBERS."""
    tests = [permutation_test(unchanged[name], changed[name]) for name in NUMBERS]
    adjusted = holm([test.p for test in tests])
    return tuple(
        AnswerChange(
            name,
            stands[name],
            unchanged[name],
            changed[name],
            sd=float(np.std(unchanged[name], ddof=1)) if len(unchanged[name]) > 1 else math.nan,
            mean_unchanged=_mean(unchanged[name]),
            mean_changed=_mean(changed[name]),
            delta=test.difference,
            p=test.p,
            p_holm=float(p_holm),
            smallest_p=test.smallest_p,
        )
        for name, test, p_holm in zip(NUMBERS, tests, adjusted, strict=True)
    )


def _text(answers: Answers) -> str | None:
    return " ".join(number_text(each, ".2f") for each in sorted(answers)) or None


def _mean(answers: Answers) -> float:
    return float(np.mean(answers)) if answers else math.nan
