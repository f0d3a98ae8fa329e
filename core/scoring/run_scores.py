"""The score of a run, one everywhere: the rows of a run with all that says how they are scored, and
the score of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.base.result import UNMARKED, LabelMarks, inline
from core.base.texts import number_text
from core.base.types import STAND_INS, Flag, HeadlineKind
from core.scoring.sentences import describe_scored, interval_text
from core.stats.arrays import Bools, Codes, Floats
from core.stats.bootstrap import ResamplingPlan, bootstrap_score
from core.stats.count_controls import count_only, rarer_gene
from core.stats.delong import widen
from core.stats.intervals import Interval, Resampled
from core.stats.official_score import ScoreIntervals, score_of_rows
from core.stats.scores_and_labels import (
    ScoredRows,
    Scores,
    ranked_scores,
    scores_from_probabilities,
)
from core.stats.within_axis import score_within
from core.store import datasets, pairs, predictions, runs
from core.store.connection import Cursor
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.protocols import EvaluationProtocol
from core.transfer.row_index import RowIndex
from core.transfer.run_cells import cells_under, describe_scoring, protocols_of, variances_between

NO_CUTS: Floats = np.empty((0, 2))
MEAN_HEADLINE = "mean of DE and DIR"
MACRO_HEADLINE = "macro AUROC by gene"
CONTROLS = ("count_only", "rarer_gene")  # columns of scores from row counts


@dataclass(frozen=True, slots=True, eq=False)
class RunRows:
    """The rows of a run in the form used for scoring; every array is of shape (n_rows,), in file
    order.

    frame: `predictions.frame`, of its own columns those of `scored_columns` at least, with those of
    `add_count_controls`. scores: the submitted numbers, as they are ranked. index, positions: the
    rows of the dataset, and where the run's rows are among them. protocols: those that keep labels
    away from the run. cells: of their folds, only pairs of rows inside one count; None: all pairs.
    cuts: DE and DIR that the run would have under other cuts of the folds, of shape (n_cuts, 2),
    seeds from 0; empty without folds or if unknown. headline: of the dataset, the number that the
    run is judged by. covered: flags of the rows that the method covers, not filled with base rates;
    undirected: of those without a predicted direction. marks: caveats about the labels of the
    dataset.
    """

    run: Run
    frame: pd.DataFrame
    scores: Scores
    index: RowIndex
    positions: Codes
    protocols: tuple[EvaluationProtocol, ...]
    cells: Codes | None
    cuts: Floats
    headline: HeadlineKind
    covered: Bools
    undirected: Bools
    marks: LabelMarks = UNMARKED

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def scored(self) -> str:
        """A description of the scoring of the run."""
        return describe_scoring(self.protocols)

    @property
    def labels(self) -> NDArray[np.object_]:
        """The labels, None if unknown."""
        return self.index.labels[self.positions]

    @property
    def pert(self) -> Codes:
        """Each row's perturbation as a code."""
        return self.index.rows.pert[self.positions]

    @property
    def gene(self) -> Codes:
        """Each row's target gene as a code."""
        return self.index.rows.gene[self.positions]

    @property
    def arrays(self) -> ScoredRows:
        """The arrays of the rows for statistics."""
        outcome = self.index.outcome.take(self.positions)
        return ScoredRows(outcome, self.scores, self.pert, self.gene, self.cells)

    def under(self, protocols: tuple[EvaluationProtocol, ...]) -> Self:
        """Return the rows, to be scored inside the cells of these protocols."""
        return replace(
            self, protocols=protocols, cells=cells_under(protocols, self.index, self.positions)
        )

    def take(self, rows: Bools | Codes) -> Self:
        """Return the chosen rows."""
        cells = None if self.cells is None else self.cells[rows]
        frame = self.frame.iloc[np.flatnonzero(rows) if rows.dtype == np.bool_ else rows]
        return replace(
            self,
            frame=frame,
            scores=self.scores.take(rows),
            positions=self.positions[rows],
            cells=cells,
            covered=self.covered[rows],
            undirected=self.undirected[rows],
        )

    def with_scores(self, scores: Scores) -> Self:
        """Return the same rows with the scores of a control without labels, which is scored over
        all rows; see `under`."""
        return replace(self, scores=scores, protocols=(), cells=None, cuts=NO_CUTS)


@dataclass(frozen=True, slots=True)
class Headline:
    """The number that a dataset is judged by, and what it is the mean of.

    de, dir: the two questions, NaN for one without both classes, which then is not a part of the
    value. genes: how many each of them counts of an average over genes; None if it is not an
    average.
    """

    name: str
    de: Interval
    dir: Interval
    genes: tuple[int, int] | None
    value: Interval = inline()

    @property
    def counted(self) -> str:
        """How many genes each question counts of an average: "3,912 genes for DE, 598 for DIR"."""
        counts = zip(("DE", "DIR"), (self.de, self.dir), self.genes or (0, 0), strict=True)
        genes = [(name, n) for name, value, n in counts if not math.isnan(value.estimate)]
        return (
            ", ".join(
                f"{n:,}{' genes' if i == 0 else ''} for {name}" for i, (name, n) in enumerate(genes)
            )
            or "no genes"
        )

    @property
    def texts(self) -> dict[str, str]:
        """DE, DIR and the number itself with their intervals, by name; of an average those that are
        defined."""
        parts = {"DE": self.de, "DIR": self.dir, "mean": self.value}
        if self.genes is not None and any(
            math.isnan(part.estimate) for part in (self.de, self.dir)
        ):
            parts = {self.name.rpartition(" ")[2]: self.value}
        return {name: interval_text(part) for name, part in parts.items()}


@dataclass(frozen=True, slots=True, eq=False)
class RunScore:
    """The score of a run.

    whole: over all of its rows. covered: over rows without a stand-in; None if there are no
    stand-ins. cuts: as in `RunRows`; their variance is part of the shown intervals. headline: over
    all rows.
    """

    covered: ScoreIntervals | None
    cuts: tuple[tuple[float, float], ...]
    headline: Headline
    whole: ScoreIntervals = inline()
    json_properties = ("n_uncovered",)

    @property
    def n_uncovered(self) -> int:
        """The number of stand-ins."""
        return 0 if self.covered is None else self.whole.n - self.covered.n

    @property
    def sentence(self) -> str:
        """The headline with its parts, and on which rows."""
        whole, headline = self.whole, self.headline
        rows = f"{whole.n:,} rows, {whole.n_labelled:,} labelled, {whole.n_de:,} with an effect"
        if whole.n_labelled == 0:
            return f"{rows}: no labels here, so no score."
        over = "" if headline.genes is None else f"{headline.name}, over {headline.counted}: "
        return (
            f"{over}{', '.join(f'{name} {text}' for name, text in headline.texts.items())}; {rows}."
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """How it was scored, the scores of other cuts of its folds, and its score without
        stand-ins."""
        if self.whole.n_labelled == 0:
            return ()
        of_cuts = (
            "; the scores of other cuts of the folds are not recorded, so the intervals do not"
            " include them"
        )
        if self.cuts:
            low, high = np.min(self.cuts, axis=0), np.max(self.cuts, axis=0)
            of_cuts = (
                f"; {len(self.cuts)} cuts of the folds score DE {low[0]:.3f} to {high[0]:.3f}, DIR"
                f" {low[1]:.3f} to {high[1]:.3f}, which is part of the intervals"
            )
        elif "cut" not in self.whole.scored:
            of_cuts = ""
        scored = f"Scored {describe_scored(self.whole.scored)}{of_cuts}."
        if self.covered is None:
            return (scored,)
        values = ", ".join(
            f"{name} {number_text(part.value)}" for name, part in self.covered.parts.items()
        )
        return (
            scored,
            (
                f"{self.n_uncovered:,} of {self.whole.n:,} rows have the base rate; on the"
                f" {self.covered.n_labelled:,} labelled rows among the others {values}."
            ),
        )


def load_scored_rows(db: Cursor, name: str) -> RunRows:
    """Return the rows of the run of a name or id. Raise NotFound, and InputError for a reading."""
    run = runs.find_predicting(db, name)
    runs_by_id = {other.id: other for other in runs.list_all(db, run.dataset)}
    rows, index = _load_rows(db, run)
    return scored_rows(run, runs_by_id.get, rows, index, datasets.find(db, run.dataset))


def _load_rows(db: Cursor, run: Run) -> tuple[pd.DataFrame, RowIndex]:
    """Return a run's rows with the count controls, and the index of its dataset, without storing
    the dataset's own frame."""
    dataset = pairs.frame(db, run.dataset, asked=run.is_asked)
    index, columns = RowIndex.of_frame(dataset), predictions.scored_columns(db, run.id)
    positions = index.positions_of(columns.pop("pair_id"))
    if np.array_equal(positions, np.arange(len(dataset))):  # all rows in order: nothing is copied
        return add_count_controls(dataset.join(columns), dataset), index
    order = np.argsort(positions)
    rows = (
        dataset.take(positions[order])
        .reset_index(drop=True)
        .join(columns.take(order).reset_index(drop=True))
    )
    return add_count_controls(rows, dataset), index


def scored_rows(
    run: Run,
    find: Callable[[str], Run | None],
    rows: pd.DataFrame,
    index: RowIndex,
    dataset: Dataset,
) -> RunRows:
    """Return the rows of a run as it is scored. find: gets a run by id; rows: see `RunRows.frame`.

    Raise InputError for bad numbers.
    """
    positions, protocols = index.positions_of(rows["pair_id"]), protocols_of(run, find)
    cuts = np.array((run.evaluation or {}).get("cuts", ()), dtype=np.float64).reshape(-1, 2)
    wanted = (*STAND_INS, Flag.UNCOVERED_DIR, Flag.NO_DE, Flag.NO_DIR)
    carried = {flag: np.zeros(len(rows), dtype=np.bool_) for flag in wanted}
    of_rows = rows["flags"].tolist()
    for row in np.flatnonzero(np.fromiter(map(len, of_rows), np.intp, len(of_rows))).tolist():
        for flag in carried.keys() & {*of_rows[row]}:
            carried[flag][row] = True
    ranked = ranked_scores(rows["prediction_up"], rows["prediction_down"], rows["pair_id"].array)
    return RunRows(
        run=run,
        frame=rows,
        scores=Scores(
            # an external score that does not answer a question
            np.where(carried[Flag.NO_DE], np.nan, ranked.p_de),
            np.where(carried[Flag.NO_DIR], np.nan, ranked.p_up),
        ),
        index=index,
        positions=positions,
        protocols=protocols,
        cells=cells_under(protocols, index, positions),
        cuts=cuts,
        headline=dataset.headline,
        covered=~np.any([carried[flag] for flag in STAND_INS], axis=0),
        undirected=carried[Flag.UNCOVERED_DIR],
        marks=dataset.marks,
    )


def add_count_controls(rows: pd.DataFrame, dataset: pd.DataFrame) -> pd.DataFrame:
    """Return a run's rows with the count controls, which count rows over each row's whole split.

    rows: `predictions.frame`; dataset: `pairs.frame`. Adds the columns gene_rows (rows of the
    gene), count_only (a DE control) and rarer_gene (a DIR control).
    """
    counted = []
    for _, split in dataset[["split", "pert", "gene"]].groupby("split", sort=False):
        pert, gene = (pd.factorize(split[name])[0] for name in ("pert", "gene"))
        controls = {"count_only": count_only(pert, gene), "rarer_gene": rarer_gene(gene)}
        counted.append(
            pd.DataFrame({"gene_rows": np.bincount(gene)[gene], **controls}, split.index)
        )
    of_dataset = dataset[["pair_id"]].join(pd.concat(counted))
    # a run on all rows: looking up a million ids takes seconds
    if rows["pair_id"].equals(of_dataset["pair_id"]):
        return rows.join(of_dataset.drop(columns="pair_id"))
    return rows.merge(of_dataset, on="pair_id", how="left", validate="one_to_one")


def count_rows(rows: RunRows) -> RunRows:
    """Return a run's rows with scores from row counts only, without biology."""
    return rows.with_scores(scores_from_probabilities(*(rows.frame[name] for name in CONTROLS)))


def score_run(rows: RunRows) -> RunScore:
    """Return the score of a run, which every page, command, figure and export shows; NaN without
    labels."""
    covered, whole = rows.covered, _score(rows)
    return RunScore(
        whole=whole,
        covered=None if covered.all() else _score(without_stand_ins(rows)),
        cuts=tuple((de, direction) for de, direction in rows.cuts.tolist()),
        headline=_headline(rows, whole),
    )


def score_counts(rows: RunRows) -> RunScore:
    """Return the score of row counts on a run's rows, with the run's scoring."""
    return score_run(count_rows(rows).under(rows.protocols))


def why_not_resampled(rows: RunRows) -> str:
    """Return why rows have no bootstrap; "" if they have one."""
    if rows.cells is not None:
        return f"it is scored {rows.scored}"
    return "" if rows.arrays.outcome.labelled.any() else "it has no labels here"


def resample_mean(rows: RunRows, seed: int) -> Resampled:
    """Return the mean score's interval by the product bootstrap over both axes."""
    return bootstrap_score(
        rows.labels, rows.scores, ResamplingPlan("two-way", seed), rows.pert, rows.gene
    ).mean


def headline_name(kind: HeadlineKind) -> str:
    """Return the headline of a dataset with labels for both questions."""
    return MEAN_HEADLINE if kind == "mean" else f"{MACRO_HEADLINE}, {MEAN_HEADLINE}"


def _headline(rows: RunRows, whole: ScoreIntervals) -> Headline:
    """Return the mean of DE and DIR, or of their macro AUROCs by gene; of only one question if the
    other lacks a class."""
    if rows.headline == "mean":
        return Headline(MEAN_HEADLINE, whole.de.shown, whole.dir.shown, None, whole.mean.shown)
    within = score_within(rows.arrays, "gene")
    de, direction = within.de.macro, within.dir.macro
    name, value = headline_name(rows.headline), within.mean
    if math.isnan(direction.value):
        name, value = f"{MACRO_HEADLINE}, DE", de
    elif math.isnan(de.value):
        name, value = f"{MACRO_HEADLINE}, DIR", direction
    return Headline(
        name, de.shown, direction.shown, (within.de.groups, within.dir.groups), value.shown
    )


def without_stand_ins(rows: RunRows) -> RunRows:
    """Return the rows without stand-ins; p_up is NaN if the method gave no direction."""
    some = rows.take(rows.covered)
    return replace(
        some, scores=Scores(some.scores.p_de, np.where(some.undirected, np.nan, some.scores.p_up))
    )


def _score(rows: RunRows) -> ScoreIntervals:
    score = score_of_rows(rows.arrays)
    de, direction, mean = variances_between(rows.cuts).tolist()
    return replace(
        score,
        de=widen(score.de, de),
        dir=widen(score.dir, direction),
        mean=widen(score.mean, mean),
        scored=rows.scored,
    )
