"""All that a report is made from, read from the store at once; its numbers are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from core.audit.debate_audit import DebateAudit, audit_debate
from core.audit.rubric import Rubric
from core.audit.rules.registry import built_in_rubrics
from core.errors import NotFound
from core.experiments.published.reproduce import Reproduced
from core.report.captioned import CaptionedFigure
from core.scoring import rubric_worth, run_scores
from core.scoring.argument_kinds import RunTexts, load_texts
from core.scoring.compare_runs import RunComparison, compare_runs
from core.scoring.controls import RunControls, control_run
from core.scoring.other_scores import OtherScores, other_scores_of_run
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.standing import Standing, standing_of
from core.stats.arrays import Floats
from core.store import (
    Cursor,
    chain_check,
    datasets,
    evidence,
    findings,
    hypotheses,
    imports,
    pairs,
    predictions,
    rubrics,
    runs,
    traces,
)
from core.store.chain_check import Finding
from core.store.datasets import Dataset
from core.store.hypotheses import Entry
from core.store.imports import Import
from core.store.rubrics import Sample, TextLabel
from core.store.runs import Run

if TYPE_CHECKING:
    from core.report.selection import ReportSelection

# What a kNN's run scores on some rows with permuted vectors, if that was computed before.
FindVectors = Callable[[Run, Sequence[str]], Floats | None]
# What answers a rubric about a run's texts, as of `core.store.rubrics.readings`, and its name; None if nothing does.
FindAnswers = Callable[[Run, Rubric], tuple[pd.DataFrame, str] | None]
ARGUMENT_KINDS = "argument_kinds"  # the figure that alone needs the texts of runs
RUBRIC_FIGURES = frozenset({"rubric_rates", "rubric_worth"})  # those that need what was asked of them
Reproduce = Callable[[], tuple[Reproduced, ...]]
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ChosenRow:
    """One row of one run in full: `predictions.row`, `traces.of_row` and `evidence.of_row`."""

    run: Run
    numbers: Mapping[str, Any]
    events: Sequence[dict[str, Any]]
    dossier: Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True, eq=False)
class AskedRubric:
    """A rubric that is one's own, or that people gave labels for, with a run's texts that it asks about.

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
    `pairs.frame`. rows, audits: by run, of all that are shown or compared. chosen_rows: by id, each in the chosen runs that
    have it. files: what was imported. ledger: every hypothesis; chain: whether they are as they were
    written. texts: by run, of those that have any, if a figure shows their
    kinds. rubrics, outcomes: by run, if a figure shows rubrics; outcomes: `rubric_worth.load_outcomes`. find_vectors: what
    permuted vectors score, if that was computed before. find_answers: what a rule or a model answers to a rubric. reproduce:
    computes the published numbers anew.
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
    chain: Finding
    texts: Mapping[str, RunTexts]
    rubrics: Mapping[str, Sequence[AskedRubric]]
    outcomes: Mapping[str, pd.Series]
    find_vectors: FindVectors
    find_answers: FindAnswers
    reproduce: Reproduce
    _known: dict[tuple[str, ...], Any] = field(default_factory=dict)

    def score(self, run: str) -> RunScore:
        """A run's score."""
        return self._once(("score", run), lambda: run_scores.score_run(self.rows[run]))

    def count_score(self, run: str) -> RunScore:
        """The score of row counts alone on a run's rows."""
        return self._once(("counts", run), lambda: run_scores.score_counts(self.rows[run]))

    def standing(self, run: str) -> Standing:
        """Where a run stands."""
        return self._once(("standing", run), lambda: standing_of(self.rows[run], self.score(run), self.count_score(run)))

    def other_scores(self, run: str) -> tuple[OtherScores, OtherScores]:
        """A run's rows asked in other ways than the score, and those of row counts alone on the same rows."""
        rows = self.rows[run]
        counts = run_scores.count_rows(rows).under(rows.protocols)
        return self._once(
            ("ways", run),
            lambda: (other_scores_of_run(rows, self.score(run)), other_scores_of_run(counts, self.count_score(run))),
        )

    def controls(self, run: str) -> RunControls:
        """What knows no biology beside a run."""
        splits = self.dataset_rows["split"].to_numpy(dtype=object)
        rows = self.rows[run]
        return self._once(
            ("controls", run), lambda: control_run(rows, splits, self.find_vectors(rows.run, rows.frame["pair_id"].tolist()))
        )

    def published(self) -> tuple[Reproduced, ...]:
        """The published numbers, computed anew."""
        return self._once(("published",), self.reproduce)

    def comparison(self, a: str, b: str) -> RunComparison:
        """Run b against run a."""
        return self._once(("comparison", a, b), lambda: compare_runs(self.rows[a], self.rows[b]))

    def answers(self, run: Run, rubric: Rubric) -> tuple[pd.DataFrame, str] | None:
        """What answers a rubric about a run's texts, and its name; None if nothing does."""
        return self._once(("answers", run.id, rubric.name), lambda: self.find_answers(run, rubric))

    def without_labels(self, run: Run, title: str) -> CaptionedFigure:
        """What stands in the place of a figure that needs labels."""
        return CaptionedFigure(
            title, run.name, f"{run.name}: no labels here, none of its {len(self.rows[run.id]):,} rows has one."
        )

    def _once(self, key: tuple[str, ...], compute: Callable[[], R]) -> R:
        if key not in self._known:
            self._known[key] = compute()
        found: R = self._known[key]
        return found


def answers_nothing(_run: Run, _rubric: Rubric) -> None:
    """No answer to any rubric."""


def load_material(
    db: Cursor,
    selection: ReportSelection,
    find_vectors: FindVectors,
    reproduce: Reproduce = tuple,
    find_answers: FindAnswers = answers_nothing,
) -> Material:
    """What a selection asks for. Raises NotFound for runs that were deleted since it was saved."""
    chosen = tuple(runs.find(db, key) for key in selection.runs)
    pairs_of_runs = tuple((runs.find(db, a), runs.find(db, b)) for a, b in selection.compare)
    shown = {run.id: run for run in (*chosen, *(run for pair in pairs_of_runs for run in pair))}
    ancestors = _ancestors_of(db, shown)
    counts = datasets.counts(db)
    rows = {key: run_scores.load_scored_rows(db, key) for key in shown}
    shows_rubrics = not RUBRIC_FIGURES.isdisjoint(selection.figure_names)
    return Material(
        dataset=datasets.find(db, selection.dataset),
        runs=chosen,
        ancestors=ancestors,
        comparisons=pairs_of_runs,
        counts=counts[counts["dataset"] == selection.dataset].reset_index(drop=True),
        dataset_rows=pairs.frame(db, selection.dataset),
        rows=rows,
        audits={run.id: (audit_debate(findings.debate_facts(db, run.id)), traces.brief_lengths(db, run.id)) for run in chosen},
        chosen_rows={pair_id: tuple(_rows_of(db, selection, chosen, pair_id)) for pair_id in selection.rows},
        files=imports.behind(db, selection.dataset, [*shown, *(run.id for run in ancestors)]),
        ledger=hypotheses.list_all(db),
        chain=chain_check.verify(db)[0],
        texts=_texts_of(db, chosen) if ARGUMENT_KINDS in selection.figure_names else {},
        rubrics={run.id: _asked_of(db, run) for run in chosen} if shows_rubrics else {},
        outcomes={run.id: rubric_worth.load_outcomes(db, rows[run.id]) for run in chosen} if shows_rubrics else {},
        find_vectors=find_vectors,
        find_answers=find_answers,
        reproduce=reproduce,
    )


def _asked_of(db: Cursor, run: Run) -> list[AskedRubric]:
    found = []
    for rubric in (*rubrics.list_own(db), *built_in_rubrics()):
        labels = rubrics.labels(db, rubric, run.id)
        if labels or not rubric.rule:
            texts = rubrics.texts(db, run.id, rubric)
            found.append(AskedRubric(rubric, texts, labels, rubrics.samples(db, rubric, run.id)))
    return [asked for asked in found if len(asked.texts)]


def _texts_of(db: Cursor, chosen: Sequence[Run]) -> dict[str, RunTexts]:
    return {run.id: load_texts(db, run.id) for run in chosen if traces.text_counts(db, run.id)}


def _ancestors_of(db: Cursor, shown: Mapping[str, Run]) -> tuple[Run, ...]:
    """The parents of some runs, their parents and so on, without these runs; one that was deleted is left out."""
    found: dict[str, Run] = {}
    waiting = [parent for run in shown.values() for parent in run.parents]
    while waiting:
        key = waiting.pop(0)
        if key in shown or key in found:
            continue
        try:
            found[key] = runs.find(db, key)
        except NotFound:
            continue
        waiting += found[key].parents
    return tuple(found.values())


def _rows_of(db: Cursor, selection: ReportSelection, chosen: Sequence[Run], pair_id: str) -> Iterator[ChosenRow]:
    having = set(predictions.runs_with(db, selection.dataset, pair_id))
    for run in chosen:
        if run.id in having:
            events, dossier = traces.of_row(db, run.id, pair_id), evidence.of_row(db, run.id, pair_id)
            yield ChosenRow(run, predictions.row(db, run.id, pair_id), events, dossier)
