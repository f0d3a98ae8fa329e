"""The inputs of a report; numbers are computed on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pandas as pd

from core.audit.debate_audit import DebateAudit
from core.audit.rubric import Rubric
from core.experiments.contamination import Contamination
from core.experiments.ledger import LedgerLine, LookedAt, ledger_lines
from core.experiments.reproduce import Reproduced
from core.explorer.component import ExplorerData
from core.report.captioned import CaptionedFigure
from core.scoring import run_scores
from core.scoring.baselines import add_expression
from core.scoring.compare_runs import RunComparison, compare_runs
from core.scoring.controls import RunControls, control_run
from core.scoring.other_scores import OtherScores, other_scores_of_run
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.standing import Standing, standing_of
from core.stats.arrays import Floats
from core.store.datasets import Dataset
from core.store.hypotheses import Entry
from core.store.imports import Import
from core.store.rubrics import MarkedPassage, Sample, TextLabel
from core.store.runs import Run

# What a kNN's run scores on some rows with permuted vectors, if that was computed before.
FindVectors = Callable[[Run, Sequence[str]], Floats | None]
# What answers a rubric about a run's texts, as of `core.store.rubrics.readings`, and its name; None if nothing does.
FindAnswers = Callable[[Run, Rubric], tuple[pd.DataFrame, str] | None]
# The explorer of a fusion; None for a run that is none, or whose parts are gone. labels: whether its rows' labels are in it.
FindExplorer = Callable[[Run, bool], ExplorerData | None]
Reproduce = Callable[[], tuple[Reproduced, ...]]
# What genes are like in the control cells of a dataset (id), see `add_expression`; None for one that was not made of cells.
FindExpression = Callable[[str], pd.DataFrame | None]
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ChosenRow:
    """One row of one run in full: `predictions.row`, `traces.of_row`, `evidence.of_row` and `rubrics.passages`."""

    run: Run
    numbers: Mapping[str, Any]
    events: Sequence[dict[str, Any]]
    dossier: Sequence[dict[str, Any]]
    passages: Sequence[MarkedPassage] = ()


@dataclass(frozen=True, slots=True, eq=False)
class AskedRubric:
    """A rubric that is the user's own, or that people gave labels for, with a run's texts that it asks about.

    texts: `rubrics.texts`; labels, samples: of the run's texts.
    """

    rubric: Rubric
    texts: pd.DataFrame
    labels: Sequence[TextLabel]
    samples: Sequence[Sample]


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """What a report shows.

    runs: those that were chosen; ancestors: what they were made from. counts: `datasets.counts` of the dataset; dataset_rows:
    `pairs.frame`. rows, audits: by run, of all that are shown or compared. chosen_rows: by id, each in the chosen runs that have
    it. files: what was imported. ledger: every hypothesis. rubrics, outcomes: by run, if a figure shows rubrics; outcomes:
    `rubric_worth.load_outcomes`, always of the first run. find_vectors: what permuted vectors score, if that was computed before.
    find_answers: what a rule or a model answers to a rubric. reproduce: recomputes the published numbers. explorers: of the
    fusions among `runs`, by run, if they are shown. expression: what genes are like in control cells, None for a dataset that was
    not made of cells. contaminations: by run, of those that were asked with other names, if that is shown. looked:
    comparisons that were looked at here.
    """

    dataset: Dataset
    runs: tuple[Run, ...]
    ancestors: tuple[Run, ...]
    comparisons: tuple[tuple[Run, Run], ...]
    counts: pd.DataFrame
    dataset_rows: pd.DataFrame
    rows: Mapping[str, RunRows]
    audits: Mapping[str, tuple[DebateAudit, pd.DataFrame]]
    chosen_rows: Mapping[str, Sequence[ChosenRow]]
    files: Sequence[Import]
    ledger: Sequence[Entry]
    rubrics: Mapping[str, Sequence[AskedRubric]]
    outcomes: Mapping[str, pd.Series]
    find_vectors: FindVectors
    find_answers: FindAnswers
    reproduce: Reproduce
    explorers: Mapping[str, ExplorerData] = field(default_factory=dict)
    contaminations: Mapping[str, Sequence[Contamination]] = field(default_factory=dict)
    expression: pd.DataFrame | None = None
    looked: LookedAt = field(default_factory=dict)
    _known: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @property
    def labelled_runs(self) -> list[Run]:
        """The runs that have a row with a label."""
        return [run for run in self.runs if self.score(run.id).whole.n_labelled]

    def say_unlabelled(self, title: str) -> list[CaptionedFigure]:
        """Return a sentence for each run that has no row with a label, instead of the figure that is called so."""
        return [self.without_labels(run, title) for run in self.runs if run not in self.labelled_runs]

    def score(self, run: str) -> RunScore:
        """Return a run's score."""
        return self._once(("score", run), lambda: run_scores.score_run(self.rows[run]))

    def count_score(self, run: str) -> RunScore:
        """Return the score of row counts alone on a run's rows."""
        return self._once(("counts", run), lambda: run_scores.score_counts(self.rows[run]))

    def standing(self, run: str) -> Standing:
        """Return where a run stands."""
        return self._once(("standing", run), lambda: standing_of(self.rows[run], self.score(run), self.count_score(run)))

    def other_scores(self, run: str) -> tuple[OtherScores, OtherScores]:
        """Return a run's rows asked in other ways than the score, and those of row counts alone on the same rows."""
        rows = self.rows[run]
        counts = run_scores.count_rows(rows).under(rows.protocols)
        return self._once(
            ("ways", run),
            lambda: (other_scores_of_run(rows, self.score(run)), other_scores_of_run(counts, self.count_score(run))),
        )

    def controls(self, run: str) -> RunControls:
        """Return the baselines without biology beside a run."""
        splits = self.dataset_rows["split"].to_numpy(dtype=object)
        rows = self.rows[run]

        def compute() -> RunControls:
            found = control_run(rows, splits, self.find_vectors(rows.run, rows.frame["pair_id"].tolist()))
            return add_expression(found, rows, self.expression)

        return self._once(("controls", run), compute)

    @property
    def ledger_lines(self) -> list[LedgerLine]:
        """The lines of the ledger, their p corrected for all tests and comparisons."""
        return ledger_lines(self.ledger, self.looked)

    def published_numbers(self) -> tuple[Reproduced, ...]:
        """Return the published numbers, computed again."""
        return self._once(("published",), self.reproduce)

    def comparison(self, a: str, b: str) -> RunComparison:
        """Run b against run a."""
        return self._once(("comparison", a, b), lambda: compare_runs(self.rows[a], self.rows[b]))

    def answers(self, run: Run, rubric: Rubric) -> tuple[pd.DataFrame, str] | None:
        """Return the answers to a rubric about a run's texts, and the judge's name; None without answers."""
        return self._once(("answers", run.id, rubric.name), lambda: self.find_answers(run, rubric))

    def without_labels(self, run: Run, title: str) -> CaptionedFigure:
        """Return the replacement for a figure that needs labels."""
        return CaptionedFigure(
            title, run.name, f"{run.name}: no labels here, none of its {len(self.rows[run.id]):,} rows has one."
        )

    def _once(self, key: tuple[str, ...], compute: Callable[[], R]) -> R:
        if key not in self._known:
            self._known[key] = compute()
        found: R = self._known[key]
        return found
