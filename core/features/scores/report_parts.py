"""What a report shows of scores: baselines, slices, curves, genes, distributions, calibration, and
runs against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from core.features.scores.calibration import NUMBERS, RANKS, CalibrationResult
from core.features.scores.figures import (
    RANKS_TITLE,
    changes_of_pair,
    curves_of_run,
    ranks_of_pair,
    spread_of_run,
    spread_of_runs,
    ties_sentence,
)
from core.features.scores.plots import roc_curves
from core.features.scores.slices import GENE_ROWS_KIND, TITLE, MeansResult, SlicesResult
from core.plots.printed import CaptionedFigure, captioned_runs, together
from core.runs.component_loader import control_expression_of, kept_vectors
from core.runs.workspace import Workspace
from core.scoring import run_scores
from core.scoring.baselines import add_expression
from core.scoring.controls import RunControls, control_run
from core.scoring.other_scores import METRICS, other_scores_of_run
from core.scoring.report_part import ReportPart, ShownRuns
from core.store.runs import Run

Figures = Sequence[CaptionedFigure]
Runs = Sequence[Run]
MakeFigures = Callable[[Workspace, ShownRuns], Figures]
_Make = Callable[[Workspace, ShownRuns, Runs], Figures]
_AXES: tuple[Literal["de", "dir"], ...] = ("de", "dir")
MOST_OVERLAID = 4  # runs whose curves can be distinguished in one figure


def _part_of_labels(title: str) -> Callable[[_Make], MakeFigures]:
    """Return what makes the figures of the runs that have labels; of each other run it says so
    under this title."""

    def decorate(make: _Make) -> MakeFigures:
        def make_all(workspace: Workspace, shown: ShownRuns) -> Figures:
            labelled = [run for run in shown.runs if shown.score(run.id).whole.n_labelled]
            return [
                *(make(workspace, shown, labelled) if labelled else ()),
                *(
                    CaptionedFigure(
                        title,
                        run.name,
                        f"{run.name}: no labels here, none of its {len(shown.rows[run.id]):,} rows"
                        " has one.",
                    )
                    for run in shown.runs
                    if run not in labelled
                ),
            ]

        return make_all

    return decorate


def _beside_baselines(
    results: Sequence[RunControls], axis: Literal["de", "dir"]
) -> CaptionedFigure:
    """Return runs beside the baselines; of several runs, each beside the baseline that it is judged
    by."""
    of_axis = [replace(each, axis=axis) for each in results]
    if len(results) > 1:
        judges = [getattr(each.verdicts, axis).control for each in results]
        of_axis = [
            replace(
                each, controls=tuple(control for control in each.controls if control.name == judge)
            )
            for each, judge in zip(of_axis, judges, strict=True)
        ]
    made = captioned_runs([(each.run.name, each) for each in of_axis], by="run")
    if len(results) == 1:
        return made
    beating = sum(bool(getattr(each.verdicts, axis).beats) for each in results)
    verb = "beats" if beating < 2 else "beat"
    finding = (
        f"{beating or 'None'} of {len(results)} runs {verb} the baselines without biology on"
        f" {axis.upper()}"
    )
    return replace(
        made,
        sentence=" ".join(f"{each.run.name}: {each.sentence}" for each in of_axis),
        finding=finding,
    )


@_part_of_labels("the baselines without biology")
def _make_baselines(workspace: Workspace, shown: ShownRuns, runs: Runs) -> Figures:
    splits = shown.dataset_rows["split"].to_numpy(dtype=object)
    expression, results = control_expression_of(workspace, shown.dataset.id), []
    for rows in (shown.rows[run.id] for run in runs):
        vectors = kept_vectors(workspace, rows.run, rows.frame["pair_id"].tolist())
        results.append(add_expression(control_run(rows, splits, vectors), rows, expression))
    return [_beside_baselines(results, axis) for axis in _AXES]


BASELINES = ReportPart(
    "baselines",
    "Baselines without biology",
    "Each run beside the baselines without biology.",
    40,
    _make_baselines,
)


@_part_of_labels("Slices")
def _make_slices(_: object, shown: ShownRuns, runs: Runs) -> Figures:
    results = []
    for run in runs:
        scores = shown.score(run.id), shown.count_score(run.id)
        results.append(
            (run.name, SlicesResult.of(shown.rows[run.id], GENE_ROWS_KIND, "mean", *scores))
        )
    beside = {"by": "slice", "names": "run", "overall": None, "control": None}
    return [captioned_runs(results, **beside)]


SLICES = ReportPart(
    "slices",
    "Where the score comes from",
    "The score by how often genes were measured, by cost.",
    50,
    _make_slices,
)


@_part_of_labels("ROC curves")
def _make_roc_curves(_: object, shown: ShownRuns, runs: Runs) -> Figures:
    made = [curves_of_run(shown.rows[run.id], shown.score(run.id)) for run in runs]
    parts = (made[i : i + MOST_OVERLAID] for i in range(0, len(made), MOST_OVERLAID))
    return [together(part, roc_curves.figure) for part in parts]


ROC_CURVES = ReportPart(
    "roc_curves",
    "ROC curves",
    "True against false positive rates of DE and DIR.",
    60,
    _make_roc_curves,
)


@_part_of_labels(f"AUROC: {TITLE}")
def _make_macro_scores(_: object, shown: ShownRuns, runs: Runs) -> Figures:
    own = {run.id: other_scores_of_run(shown.rows[run.id], shown.score(run.id)) for run in runs}
    first = shown.rows[runs[0].id]
    counted = run_scores.count_rows(first).under(first.protocols)
    beside_first = {runs[0].id: other_scores_of_run(counted, shown.count_score(runs[0].id))}
    return [
        captioned_runs(
            [
                (
                    run.name,
                    MeansResult.of(
                        shown.rows[run.id], question, own[run.id], beside_first.get(run.id)
                    ),
                )
                for run in runs
            ]
        )
        for question in METRICS
    ]


MACRO_SCORES = ReportPart(
    "macro_scores",
    "Genes and perturbations",
    "Mean AUROCs over genes and perturbations.",
    70,
    _make_macro_scores,
)


def _make_score_spread(_: object, shown: ShownRuns) -> Figures:
    labelled = [run for run in shown.runs if shown.score(run.id).whole.n_labelled]
    runs = [shown.rows[run.id] for run in labelled]
    figures = [
        spread_of_runs(runs, number) if len(runs) > 1 else spread_of_run(runs[0], number)
        for number in NUMBERS
        if runs
    ]
    without = [
        (run.name, ties_sentence(shown.rows[run.id])) for run in shown.runs if run not in labelled
    ]
    return [
        *figures,
        *(
            CaptionedFigure("Scores of each class", run, f"No labels here. {ties}")
            for run, ties in without
        ),
    ]


SCORE_SPREAD = ReportPart(
    "score_spread",
    "Distributions of the scores",
    "Scores of rows by label.",
    80,
    _make_score_spread,
)


@_part_of_labels("Reliability")
def _make_reliability(_: object, shown: ShownRuns, runs: Runs) -> Figures:
    calibrated = [shown.rows[run.id] for run in runs if not run.has_rank_scores]
    of_numbers = (
        [(rows.run.name, CalibrationResult.of(rows, name)) for rows in calibrated]
        for name in NUMBERS
    )
    return [
        *(captioned_runs(results) for results in of_numbers if results),
        *(
            CaptionedFigure("Reliability", run.name, f"{run.name}: {RANKS}")
            for run in runs
            if run.has_rank_scores
        ),
    ]


RELIABILITY = ReportPart(
    "reliability",
    "Reliability",
    "Predicted probabilities against observed shares.",
    90,
    _make_reliability,
)


def _make_paired_changes(_: object, shown: ShownRuns) -> Figures:
    figures = [changes_of_pair(shown.comparison(a.id, b.id)) for a, b in shown.comparisons]
    return figures or [
        CaptionedFigure("Paired changes", "", "No two runs were chosen for comparison.")
    ]


PAIRED_CHANGES = ReportPart(
    "paired_changes",
    "Is one run better?",
    "Paired differences of the chosen pairs of runs.",
    110,
    _make_paired_changes,
)


def _make_rank_scatter(_: object, shown: ShownRuns) -> Figures:
    figures = [ranks_of_pair(shown.comparison(a.id, b.id)) for a, b in shown.comparisons]
    return figures or [CaptionedFigure(RANKS_TITLE, "", "No two runs were chosen for comparison.")]


RANK_SCATTER = ReportPart(
    "rank_scatter",
    "How runs differ",
    "The ranks of the same rows in the chosen pairs of runs.",
    120,
    _make_rank_scatter,
)
