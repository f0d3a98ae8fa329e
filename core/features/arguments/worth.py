"""The worth of an argument: are predictions better in rows where the answer to a rubric is yes than
where it is no? The judge's answers are used without correction.

A row's contribution to an AUROC is its structural component (DeLong 1988): the share of the rows of
the other class, in its cell, that it is ranked correctly against, ties counting half. Its mean over
the positives, as over the negatives, is the AUROC; 0.5 is chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.result import Figure, Table, hidden
from core.features.arguments.rubric import Rubric
from core.scoring.run_scores import RunRows
from core.scoring.sentences import scored_text
from core.stats.arrays import Bools, Codes, Floats, codes_or_one, count_codes, divide, sum_by_group
from core.stats.auroc import placements
from core.stats.clustered_mean import METHODS, Part
from core.stats.delong import Estimate, dependence_of, estimates_from
from core.stats.influence import Influence
from core.stats.intervals import Interval
from core.stats.multiplicity import holm, p_value
from core.stats.power import LEVEL
from core.stats.scores_and_labels import Task
from core.store import predictions
from core.store.connection import Cursor


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """The means of a number over two groups of rows, and the mean of `yes` minus the mean of `no`;
    NaN for a group without rows.
    """

    yes: Estimate
    no: Estimate
    change: Estimate


def mean_difference(
    values: Floats, yes: Bools, no: Bools, pert: Codes, gene: Codes
) -> GroupDifference:
    """Return means of `values` in [0, 1] (NaN: does not count) over the rows of both groups; all of
    shape (n_rows,)."""
    groups = [_mean_of(values, group) for group in (yes, no)]
    return _difference(groups, [], pert, gene)


def contributions(task: Task, cells: Codes | None) -> Floats:
    """Return the contribution of every row, of shape (n_rows,); NaN for rows that do not count or
    lack an opposite class."""
    opposite, won = _against(task, cells, task.rows)
    return divide(won, opposite)


def contribution_difference(
    task: Task, cells: Codes | None, yes: Bools, no: Bools, pert: Codes, gene: Codes
) -> GroupDifference:
    """Return mean contributions of both groups' rows.

    Yes, no: flags of shape (n_rows,), of rows that need not be all of the task's. The intervals
    allow for the sampling of the other class's rows too.
    """
    values = contributions(task, cells)
    groups = [_mean_of(values, group) for group in (yes, no)]
    references = [_as_reference(task, cells, group, values) for group in groups]
    return _difference(groups, references, pert, gene)


def _mean_of(values: Floats, group: Bools) -> Part:
    """Return the mean of the known values of a group, and the influence of its rows."""
    rows = group & ~np.isnan(values)
    n, known = int(rows.sum()), np.nan_to_num(values)
    mean = float(known[rows].mean()) if n else float("nan")
    return Part(mean, np.where(rows, known - mean, 0.0) / max(n, 1), rows)


def _as_reference(task: Task, cells: Codes | None, group: Part, values: Floats) -> Part:
    """Return each row's influence on a group's mean contribution as a row of the other class; mean
    0."""
    inside, n_cells = _cells_of(task, cells)
    influence, counts = np.zeros(len(values)), np.zeros(len(values), dtype=np.bool_)
    for positive in (True, False):
        reference = task.rows & (task.positive != positive)
        ranked = group.counts & (task.positive == positive)
        _, won = _against(task, cells, ranked | reference)
        sums = sum_by_group(inside, n_cells, np.where(ranked, np.nan_to_num(values), 0.0))
        size = sum_by_group(inside, n_cells, reference)
        met = reference & (sum_by_group(inside, n_cells, ranked) > 0)[inside]
        influence[met] = ((won - sums[inside]) / np.maximum(size, 1)[inside])[met]
        counts |= met
    return Part(0.0, influence / max(int(group.counts.sum()), 1), counts)


def _against(task: Task, cells: Codes | None, rows: Bools) -> tuple[Floats, Floats]:
    """Return, for each of `rows`, the number of rows of the other class in its cell, and the number
    that it wins against; 0 of the rest; both of shape (n_rows,).
    """
    inside, n_cells = _cells_of(task, cells)
    positive, where = task.positive[rows], inside[rows]
    placed = placements(positive, task.values[rows], where, n_cells)
    opposite, won = np.zeros((2, len(rows)))
    opposite[rows] = np.where(positive, placed.negatives[where], placed.positives[where])
    won[rows] = placed.won
    return opposite, won


def _cells_of(task: Task, cells: Codes | None) -> tuple[Codes, int]:
    inside = codes_or_one(cells, len(task.rows))
    return inside, count_codes(inside)


def _difference(
    groups: Sequence[Part], references: Sequence[Part], pert: Codes, gene: Codes
) -> GroupDifference:
    """Return both means and their difference; references: an optional part to add to each group."""
    parts = [*groups, *references]
    rows_of = [float(part.counts.sum()) for part in groups] + [0.0] * len(references)
    influence = Influence(
        np.array([[part.value] for part in parts]),
        np.array(rows_of)[:, None],
        np.stack([part.influence for part in parts]),
        np.stack([part.counts for part in parts]),
        np.zeros(len(pert), dtype=np.intp),
    )
    dependence = dependence_of(influence, pert, gene, METHODS)
    repeats = len(parts) // len(groups)
    yes, no = (
        estimates_from(influence, dependence, [np.tile(weights, repeats)])[0][0]
        for weights in np.eye(2)
    )
    of_both = replace(influence, counts=np.full((len(parts), 1), sum(rows_of)))
    [[change]] = estimates_from(of_both, dependence, [np.tile([1.0, -1.0], repeats)], (-1.0, 1.0))
    return GroupDifference(yes, no, change)


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
    mean contribution to the AUROC (`contribution_difference`). p_holm: over every measure of every
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
