"""The inputs of a report; numbers are computed on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pandas as pd

from core.base.types import MarkedPassage
from core.features.experiments.ledger_table import Entry
from core.features.fuse.explorer.component import ExplorerData
from core.features.published.result import Reproduction
from core.plots.captioned import CaptionedFigure
from core.scoring import run_scores
from core.scoring.baselines import add_expression
from core.scoring.compare_runs import RunComparison, compare_runs
from core.scoring.controls import RunControls, control_run
from core.scoring.debate_audit import DebateAudit
from core.scoring.other_scores import OtherScores, other_scores_of_run
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.standing import Standing, standing_of
from core.stats.arrays import Floats
from core.store.datasets import Dataset
from core.store.imports import Import
from core.store.runs import Run

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Finders:
    """What a report reads besides the store; by default nothing.

    vectors: what a kNN's run scores on some rows with permuted vectors, if that was computed
    before. reproduce: computes the published numbers again. explorer: of a fusion; None for a run
    that is none, or whose parts are gone; the flag says whether the labels of its rows are in it.
    expression: statistics of genes in the control cells of a dataset (id), see `add_expression`;
    None if it was not made from cells. looked: comparisons of runs made, by dataset.
    """

    vectors: Callable[[Run, Sequence[str]], Floats | None] = lambda _run, _rows: None
    reproduce: Callable[[], Reproduction] = lambda: Reproduction(())
    explorer: Callable[[Run, bool], ExplorerData | None] = lambda _run, _labels: None
    expression: Callable[[str], pd.DataFrame | None] = lambda _dataset: None
    looked: Callable[[], Mapping[str, Mapping[tuple[str, str], float]]] = dict


@dataclass(frozen=True, slots=True)
class ChosenRow:
    """One row of one run in full: `predictions.row`, `traces.of_row`, `evidence.of_row` and
    `rubrics.passages`."""

    run: Run
    numbers: Mapping[str, Any]
    events: Sequence[dict[str, Any]]
    dossier: Sequence[dict[str, Any]]
    passages: Sequence[MarkedPassage] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """What a report shows.

    runs: those that were chosen; ancestors: what they were made from. counts: `datasets.counts` of
    the dataset; dataset_rows: `pairs.frame`. rows, audits: by run, of all that are shown or
    compared. chosen_rows: by id, each in the chosen runs that have it. files: what was imported.
    ledger: every hypothesis. outcomes: hit or miss of each row of the first run. explorers: of the
    fusions among `runs`, by run, if they are shown.
    """

    dataset: Dataset
    runs: tuple[Run, ...]
    ancestors: tuple[Run, ...]
    comparisons: tuple[tuple[Run, Run], ...]
    counts: pd.DataFrame
    dataset_rows: pd.DataFrame
    rows: Mapping[str, RunRows]
    audits: Mapping[str, DebateAudit]
    chosen_rows: Mapping[str, Sequence[ChosenRow]]
    files: Sequence[Import]
    ledger: Sequence[Entry]
    outcomes: pd.Series
    find: Finders
    explorers: Mapping[str, ExplorerData] = field(default_factory=dict)
    _known: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @property
    def labelled_runs(self) -> list[Run]:
        """The runs that have a row with a label."""
        return [run for run in self.runs if self.score(run.id).whole.n_labelled]

    def say_unlabelled(self, title: str) -> list[CaptionedFigure]:
        """Return a sentence for each run that has no row with a label, instead of the figure that
        is called so."""
        return [
            CaptionedFigure(
                title,
                run.name,
                f"{run.name}: no labels here, none of its {len(self.rows[run.id]):,} rows has one.",
            )
            for run in self.runs
            if run not in self.labelled_runs
        ]

    def score(self, run: str) -> RunScore:
        """Return a run's score."""
        return self._once(("score", run), lambda: run_scores.score_run(self.rows[run]))

    def count_score(self, run: str) -> RunScore:
        """Return the score of row counts alone on a run's rows."""
        return self._once(("counts", run), lambda: run_scores.score_counts(self.rows[run]))

    def standing(self, run: str) -> Standing:
        """Return where a run stands."""
        return self._once(
            ("standing", run),
            lambda: standing_of(self.rows[run], self.score(run), self.count_score(run)),
        )

    def other_scores(self, run: str) -> tuple[OtherScores, OtherScores]:
        """Return a run's rows asked in other ways than the score, and those of row counts alone on
        the same rows."""
        rows = self.rows[run]
        counts = run_scores.count_rows(rows).under(rows.protocols)
        return self._once(
            ("ways", run),
            lambda: (
                other_scores_of_run(rows, self.score(run)),
                other_scores_of_run(counts, self.count_score(run)),
            ),
        )

    def controls(self, run: str) -> RunControls:
        """Return the baselines without biology beside a run."""
        splits = self.dataset_rows["split"].to_numpy(dtype=object)
        rows = self.rows[run]

        def compute() -> RunControls:
            found = control_run(
                rows, splits, self.find.vectors(rows.run, rows.frame["pair_id"].tolist())
            )
            return add_expression(found, rows, self.find.expression(self.dataset.id))

        return self._once(("controls", run), compute)

    def published_numbers(self) -> Reproduction:
        """Return the published numbers, computed again."""
        return self._once(("published",), self.find.reproduce)

    def comparison(self, a: str, b: str) -> RunComparison:
        """Run b against run a."""
        return self._once(("comparison", a, b), lambda: compare_runs(self.rows[a], self.rows[b]))

    def _once(self, key: tuple[str, ...], compute: Callable[[], R]) -> R:
        if key not in self._known:
            self._known[key] = compute()
        found: R = self._known[key]
        return found
