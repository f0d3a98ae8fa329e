"""The worth of an argument: are predictions better in rows where the answer to a rubric is yes than
where it is no?

The judge's answers are used without correction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.result import Figure, Table, hidden
from core.features.arguments.group_contributions import contribution_difference, mean_difference
from core.features.arguments.rubric import Rubric
from core.scoring.run_scores import RunRows
from core.scoring.sentences import scored_text
from core.stats.arrays import Floats
from core.stats.intervals import Interval
from core.stats.multiplicity import holm, p_value
from core.stats.power import LEVEL
from core.store import predictions
from core.store.connection import Cursor

MEASURES: Mapping[str, str] = {
    "hit_rate": "hit rate",
    "de": "DE contribution",
    "dir": "DIR contribution",
}
Group = Mapping[str, int | Interval]  # of rows: their number n, and the mean of each measure


@dataclass(frozen=True, slots=True)
class ArgumentWorth:
    """Rows whose answer is yes against those whose answer is no.

    answer: what counts as yes. yes, no: n, the number of rows, and the mean of each of `MEASURES`;
    delta: their differences. unread: rows of neither, since no text of theirs could be read, or
    they have none. hit_rate: the share of rows whose most probable call is the label; de, dir: the
    mean contribution to the AUROC (`group_contributions`). p_holm: over every measure of every
    rubric that was tried together.
    """

    rubric: str
    answer: str
    yes: Group
    no: Group
    unread: int
    delta: Mapping[str, Interval]
    p_holm: Mapping[str, float]
    unit: str = hidden()
    json_properties = ("p",)

    @property
    def p(self) -> dict[str, float]:
        """The two-sided p of each difference."""
        return {key: p_value(change) for key, change in self.delta.items()}

    @property
    def counts(self) -> str:
        """The two groups of rows."""
        groups = f"rows whose answer is “{self.answer}”", "rows with another answer"
        if self.unit in ("brief", "speech", "verdict"):
            text = "advocate's text" if self.unit == "brief" else self.unit
            groups = f"rows where at least one {text} is “{self.answer}”", "rows where none is"
        return f"{self.yes['n']:,} {groups[0]}, {self.no['n']:,} {groups[1]}"

    @property
    def sentence(self) -> str:
        """The groups of rows, and the measures that differ after Holm's correction."""
        differing = [
            f"{'higher' if change.estimate > 0 else 'lower'} in {MEASURES[key]}"
            for key, change in self.delta.items()
            if self.p_holm[key] < LEVEL
        ]
        shown = (
            f"the rows with it are {' and '.join(differing)}"
            if differing
            else "no measure is shown to differ"
        )
        return f"{self.rubric}: {self.counts}; {shown}."


@dataclass(frozen=True, slots=True)
class RubricWorth:
    """What rubrics are worth on a run, all tested together. The keys of a single one stand beside
    `rubrics`, else None."""

    run: str
    scored: str
    rubrics: tuple[ArgumentWorth, ...]
    yes: Group | None = None
    no: Group | None = None
    delta: Mapping[str, Interval] | None = None
    p_holm: Mapping[str, float] | None = None
    title = "What an argument is worth"

    @property
    def scope(self) -> str:
        """The rows, how they are scored, and the tests."""
        tests = sum(p == p for each in self.rubrics for p in each.p.values())
        return f"{self.run}, {scored_text(self.scored)}; Holm's correction over {tests} tests"

    @property
    def sentence(self) -> str:
        """What each rubric's rows differ in."""
        return " ".join(each.sentence for each in self.rubrics)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a difference does not say."""
        unread = {each.rubric: each.unread for each in self.rubrics if each.unread}
        left_out = ", ".join(f"{rubric} {n:,}" for rubric, n in unread.items())
        return (
            "The judge's answers are not corrected.",
            (
                "A difference is not proof of an effect: rows about which something is said may be"
                " easier or harder by themselves."
            ),
            *([f"Rows without a readable text are left out: {left_out}."] if unread else []),
        )

    def tables(self) -> tuple[Table, ...]:
        """Return a line for each measure of each rubric."""
        rows = [
            {
                **{"rubric": each.rubric, "answer": each.answer, "measure": words},
                **{"rows with it": each.yes["n"], "rows without": each.no["n"]},
                **{
                    "with it": each.yes[key],
                    "without": each.no[key],
                    "difference": each.delta[key],
                },
                **{"p": each.p[key], "p (Holm)": each.p_holm[key]},
            }
            for each in self.rubrics
            for key, words in MEASURES.items()
        ]
        return (Table("Rows with the answer against the others", tuple(rows), ("difference",)),)

    def figure(self) -> Figure:
        """Return the differences."""
        table = pd.DataFrame(
            {
                "metric": each.rubric,
                "unit": words,
                **each.delta[key].columns,
                "n": each.delta[key].n,
                "p_holm": each.p_holm[key],
            }
            for each in self.rubrics
            for key, words in MEASURES.items()
        )
        values = {"table": table, "title": "rows with yes minus rows with no"}
        return Figure("core.plots.paired_changes:figure", values, self.sentence)


def load_outcomes(db: Cursor, rows: RunRows) -> pd.Series:
    """Return the outcome of each row of a run, in the order of `rows`: "hit", "miss", or None
    without a label or a call."""
    return predictions.list_rows(db, rows.run.id, rows.frame["pair_id"].tolist())["outcome"]


def rows_with_answer(readings: pd.DataFrame, answer: str) -> pd.Series:
    """Return whether at least one text of a row has the answer, by pair_id, for rows with a
    readable text.

    readings: `store.rubrics.readings`.
    """
    read = readings[readings["answer"].fillna("") != ""]
    has_answer: pd.Series = read["answer"].eq(answer).groupby(read["pair_id"]).any()
    return has_answer


def rubric_worth(
    rows: RunRows,
    outcomes: pd.Series,
    readings: Sequence[tuple[Rubric, pd.DataFrame]],
    answer: str | None = None,
) -> RubricWorth:
    """Return what each rubric is worth on a run, in the order given.

    outcomes: of `load_outcomes`. readings: the judge's answers by rubric; answer: what counts as
    yes, the first of a rubric's answers by default. Raise InputError for a run without labels and
    for an answer that a rubric does not have.
    """
    if not rows.arrays.outcome.labelled.any():
        raise InputError(
            f"{rows.run.name}: none of its {len(rows):,} rows has a label, so hits and misses are"
            " unknown; expected labels"
        )
    hit: Floats = np.full(len(outcomes), np.nan)
    hit[outcomes.eq("hit")], hit[outcomes.eq("miss")] = 1.0, 0.0
    compared = [
        _compare(rows, hit, rubric, answers, rubric.answer_or_first(answer))
        for rubric, answers in readings
    ]
    adjusted = iter(holm([p for each in compared for p in each.p.values()]))
    worth = tuple(
        replace(each, p_holm={key: float(next(adjusted)) for key in each.delta})
        for each in compared
    )
    only = (
        [(each.yes, each.no, each.delta, each.p_holm) for each in worth]
        if len(worth) == 1
        else [()]
    )
    return RubricWorth(rows.run.name, rows.scored, worth, *only[0])


def _compare(
    rows: RunRows, hit: Floats, rubric: Rubric, readings: pd.DataFrame, answer: str
) -> ArgumentWorth:
    answered = rows.frame["pair_id"].map(rows_with_answer(readings, answer))
    yes, no = answered.eq(True).to_numpy(), answered.eq(False).to_numpy()
    groups = (yes, no, rows.pert, rows.gene)
    de, direction = rows.arrays.tasks()
    measures = {
        "hit_rate": mean_difference(hit, *groups),
        "de": contribution_difference(de, rows.cells, *groups),
        "dir": contribution_difference(direction, rows.cells, *groups),
    }
    of_yes: Group = {"n": int(yes.sum()), **{key: each.yes.shown for key, each in measures.items()}}
    of_no: Group = {"n": int(no.sum()), **{key: each.no.shown for key, each in measures.items()}}
    delta = {key: each.change.shown for key, each in measures.items()}
    return ArgumentWorth(
        rubric.name, answer, of_yes, of_no, int((~yes & ~no).sum()), delta, {}, rubric.unit
    )
