"""The score of a run as a result: what every page, command and report says of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from core.base.result import LabelMarks, Table, hidden, inline
from core.base.texts import rows_behind
from core.scoring.other_scores import OtherScores
from core.scoring.run_scores import RunRows, RunScore, load_scored_rows
from core.scoring.sentences import TWO_WAY, axes_text, fusion_caveats, scored_text
from core.stats.arrays import Codes, Floats, codes_or_one
from core.stats.intervals import Interval, Resampled
from core.stats.ranks import round_for_ranks
from core.store import runs
from core.store.connection import Cursor
from core.store.runs import Run

UNIT: Final = (
    "perturbations and genes: largest of the two-way (V_pert + V_gene - V_row), perturbation, gene "
    "and row standard errors, Student's t with Satterthwaite's degrees of freedom, logit limits"
)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreResult:
    """The score of a run.

    same_predictions: other runs with the same predictions. constant: a sentence for each component
    of a fusion that changes no order. others: None if they were not computed. product: the mean by
    a conservative bootstrap, None if it was not resampled.
    """

    same_predictions: tuple[str, ...]
    constant: tuple[str, ...]
    label_marks: LabelMarks
    run: Run = hidden()
    score: RunScore = inline()
    others: OtherScores | None = inline(default=None)
    product: Resampled | None = None
    json_properties = ("unit",)

    @property
    def unit(self) -> str:
        """What the intervals treat as independent."""
        return UNIT

    @property
    def title(self) -> str:
        """The run's score."""
        return f"Score of {self.run.name}"

    @property
    def sentence(self) -> str:
        """The score with its intervals, and on which rows."""
        return f"{self.run.name}: {self.score.sentence}"

    @property
    def scope(self) -> str:
        """Which rows count."""
        whole = self.score.whole
        return (
            f"{whole.n_labelled:,} labelled rows, {scored_text(whole.scored)} · 95% intervals"
            f" {TWO_WAY}"
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before trusting it."""
        same = same_runs_sentence(self.run.name, self.same_predictions)
        own = (*self.score.caveats, same, *self.constant, *fusion_caveats(self.run))
        return tuple(filter(None, (self.label_marks.sentence, *own)))

    def tables(self) -> tuple[Table, ...]:
        """Return the score, and the other scores if they were computed."""
        if self.score.whole.n_labelled == 0:
            return ()
        whole, headline = self.score.whole, self.score.headline
        rows = [
            _row(name, part.shown, part.row, rows_behind(name, part.n))
            for name, part in whole.parts.items()
        ]
        if headline.genes is not None:
            by_gene = zip(
                ("DE by gene", "DIR by gene"),
                (headline.de, headline.dir),
                headline.genes,
                strict=True,
            )
            rows = [*(_row(name, part, None, f"{n:,} genes") for name, part, n in by_gene), *rows]
            rows.insert(0, _row(headline.name, headline.value, None, headline.counted))
        if self.product is not None:
            how = (
                f"{self.product.method} of perturbations and genes, {self.product.resamples:,}"
                " resamples: conservative"
            )
            rows.append(
                {
                    **_row(
                        "mean, resampled", self.product, None, rows_behind("mean", self.product.n)
                    ),
                    "interval": how,
                }
            )
        return Table("Score", tuple(rows)), *(self.others.tables() if self.others else ())

    def figure(self) -> None:
        """Return None: three numbers need no figure."""


def _row(name: str, shown: Interval, by_rows: Interval | None, counted: str) -> dict[str, Any]:
    how = axes_text(shown)
    if math.isnan(shown.estimate):
        how = "no score: the run does not rank rows by it, or the labels have one class"
    return {
        "score": name,
        "AUROC": shown,
        "by rows alone": by_rows,
        "counted": counted,
        "interval": how,
    }


def score_result(db: Cursor, rows: RunRows, score: RunScore) -> ScoreResult:
    """Return the score of a run with its caveats, without other scores and resamples."""
    same = tuple(other.name for other in runs.list_same(db, rows.run))
    constant = constant_parents(db, rows.run) if rows.run.method == "fusion" else ()
    return ScoreResult(same, tuple(constant), rows.marks, rows.run, score)


def same_runs_sentence(name: str, others: Sequence[str]) -> str:
    """Return a sentence on other runs with the same predictions; empty without any."""
    return (
        f"{name} has the same predictions as {' and '.join(others)}: they are one run."
        if others
        else ""
    )


def constant_parents(db: Cursor, fused: Run) -> list[str]:
    """Return one sentence for each number of a component that changes no order in a cell of the
    fusion.

    Components that were deleted since are left out.
    """
    rows, here = load_scored_rows(db, fused.id), runs.statuses(db)
    parts = [load_scored_rows(db, parent) for parent in fused.parents if parent in here]
    de, up = ([_on_rows(part, column, rows) for part in parts] for column in ("p_de", "p_up"))
    return constant_sentences([part.run.name for part in parts], de, up, rows.cells)


def _on_rows(part: RunRows, column: str, rows: RunRows) -> Floats:
    """Return the numbers of a run on the rows of another, NaN for rows that it does not cover."""
    everywhere = np.full(len(rows.index.pair_ids), np.nan)
    everywhere[part.positions] = np.where(part.covered, getattr(part.scores, column), np.nan)
    return everywhere[rows.positions]


def constant_sentences(
    names: Sequence[str], de: Iterable[Floats], up: Iterable[Floats], cells: Codes | None
) -> list[str]:
    """Return one sentence for each number of a component that is constant in some cells, where its
    weight changes no order.

    names: of the components, the base first. de, up: their numbers, each of shape (n_rows,), NaN if
    missing. Without cells, all rows form one cell.
    """
    sentences = []
    for what, columns in (("P(DE)", de), ("P(up | DE)", up)):
        for name, values in zip(names, columns, strict=True):
            inside = codes_or_one(cells, len(values))
            constant, of_cells, rows = count_constant_cells(values, inside)
            where = (
                f"in all {rows:,} rows"
                if of_cells == 1
                else f"inside {constant:,} of {of_cells:,} cells ({rows:,} rows)"
            )
            if constant:
                sentences.append(
                    f"{name} has one {what} {where}: there its weight changes no order."
                )
    return sentences


def count_constant_cells(values: Floats, cells: Codes) -> tuple[int, int, int]:
    """Return the number of constant cells, of cells with several rows, and of rows in the constant
    cells.

    values: of shape (n_rows,); NaN is left out. cells: codes of shape (n_rows,).
    """
    of_cells = pd.Series(round_for_ranks(values)).groupby(cells).agg(["count", "nunique"])
    several = of_cells[of_cells["count"] > 1]
    constant = several[several["nunique"] == 1]
    return len(constant), len(several), int(constant["count"].sum())
