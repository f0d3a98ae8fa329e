"""What a report shows of scores: baselines, slices, curves, genes, distributions, calibration, and
runs against each other."""

from __future__ import annotations

from collections.abc import Sequence
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
from core.features.scores.means import TITLE, MeansResult
from core.features.scores.plots import roc_curves
from core.features.scores.slices import GENE_ROWS_KIND, SlicesResult
from core.plots.captioned import CaptionedFigure, together
from core.plots.results import captioned_runs
from core.runs.component_loader import control_expression_of, kept_vectors
from core.runs.workspace import Workspace
from core.scoring import run_scores
from core.scoring.baselines import add_expression
from core.scoring.controls import RunControls, control_run
from core.scoring.other_scores import METRICS, other_scores_of_run
from core.scoring.report_part import ReportPart, ShownRuns
from core.store.runs import Run

_AXES: tuple[Literal["de", "dir"], ...] = ("de", "dir")
MOST_OVERLAID = 4  # runs whose curves can be distinguished in one figure


def _labelled(shown: ShownRuns) -> list[Run]:
    """Return the runs that have a row with a label."""
    return [run for run in shown.runs if shown.score(run.id).whole.n_labelled]


def _say_unlabelled(shown: ShownRuns, title: str) -> list[CaptionedFigure]:
    """Return a sentence for each run that has no row with a label, instead of the figure that is
    called so."""
    labelled = _labelled(shown)
    return [
        CaptionedFigure(
            title,
            run.name,
            f"{run.name}: no labels here, none of its {len(shown.rows[run.id]):,} rows has one.",
        )
        for run in shown.runs
        if run not in labelled
    ]


def _controls(workspace: Workspace, shown: ShownRuns, run: str) -> RunControls:
    """Return the baselines without biology beside a run (id)."""
    rows = shown.rows[run]
    splits = shown.dataset_rows["split"].to_numpy(dtype=object)
    vectors = kept_vectors(workspace, rows.run, rows.frame["pair_id"].tolist())
    expression = control_expression_of(workspace, shown.dataset.id)
    return add_expression(control_run(rows, splits, vectors), rows, expression)


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


def _make_baselines(workspace: Workspace, shown: ShownRuns) -> Sequence[CaptionedFigure]:
    results = [_controls(workspace, shown, run.id) for run in _labelled(shown)]
    figures = [_beside_baselines(results, axis) for axis in _AXES if results]
    return [*figures, *_say_unlabelled(shown, "the baselines without biology")]


BASELINES = ReportPart(
    "baselines",
    "Baselines without biology",
    "Each run beside the baselines without biology.",
    40,
    _make_baselines,
)


def _make_slices(_: object, shown: ShownRuns) -> Sequence[CaptionedFigure]:
    results = []
    for run in _labelled(shown):
        scores = shown.score(run.id), shown.count_score(run.id)
        results.append(
            (run.name, SlicesResult.of(shown.rows[run.id], GENE_ROWS_KIND, "mean", *scores))
        )
    beside = {"by": "slice", "names": "run", "overall": None, "control": None}
    figures = [captioned_runs(results, **beside)] if results else []
    return [*figures, *_say_unlabelled(shown, "Slices")]


SLICES = ReportPart(
    "slices",
    "Where the score comes from",
    "The score by how often genes were measured, by cost.",
    50,
    _make_slices,
)


def _make_roc_curves(_: object, shown: ShownRuns) -> Sequence[CaptionedFigure]:
    made = [curves_of_run(shown.rows[run.id], shown.score(run.id)) for run in _labelled(shown)]
    parts = (made[i : i + MOST_OVERLAID] for i in range(0, len(made), MOST_OVERLAID))
    return [
        *(together(part, roc_curves.figure) for part in parts),
        *_say_unlabelled(shown, "ROC curves"),
    ]


ROC_CURVES = ReportPart(
    "roc_curves",
    "ROC curves",
    "True against false positive rates of DE and DIR.",
    60,
    _make_roc_curves,
)


def _make_macro_scores(_: object, shown: ShownRuns) -> Sequence[CaptionedFigure]:
    runs, figures = _labelled(shown), []
    if runs:
        own = {run.id: other_scores_of_run(shown.rows[run.id], shown.score(run.id)) for run in runs}
        first = shown.rows[runs[0].id]
        counted = run_scores.count_rows(first).under(first.protocols)
        counts = other_scores_of_run(counted, shown.count_score(runs[0].id))
        beside_first = [counts, *[None] * (len(runs) - 1)]
        for question in METRICS:
            results = [
                (run.name, MeansResult.of(shown.rows[run.id], question, own[run.id], beside))
                for run, beside in zip(runs, beside_first, strict=True)
            ]
            figures.append(captioned_runs(results))
    return [*figures, *_say_unlabelled(shown, f"AUROC: {TITLE}")]


MACRO_SCORES = ReportPart(
    "macro_scores",
    "Genes and perturbations",
    "Mean AUROCs over genes and perturbations.",
    70,
    _make_macro_scores,
)


def _make_score_spread(_: object, shown: ShownRuns) -> Sequence[CaptionedFigure]:
    labelled = _labelled(shown)
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


def _make_reliability(_: object, shown: ShownRuns) -> Sequence[CaptionedFigure]:
    calibrated = [shown.rows[run.id] for run in _labelled(shown) if not run.has_rank_scores]
    of_numbers = (
        [(rows.run.name, CalibrationResult.of(rows, name)) for rows in calibrated]
        for name in NUMBERS
    )
    return [
        *(captioned_runs(results) for results in of_numbers if results),
        *(
            CaptionedFigure("Reliability", run.name, f"{run.name}: {RANKS}")
            for run in _labelled(shown)
            if run.has_rank_scores
        ),
        *_say_unlabelled(shown, "Reliability"),
    ]


RELIABILITY = ReportPart(
    "reliability",
    "Reliability",
    "Predicted probabilities against observed shares.",
    90,
    _make_reliability,
)


def _make_paired_changes(_: object, shown: ShownRuns) -> Sequence[CaptionedFigure]:
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


def _make_rank_scatter(_: object, shown: ShownRuns) -> Sequence[CaptionedFigure]:
    figures = [ranks_of_pair(shown.comparison(a.id, b.id)) for a, b in shown.comparisons]
    return figures or [CaptionedFigure(RANKS_TITLE, "", "No two runs were chosen for comparison.")]


RANK_SCATTER = ReportPart(
    "rank_scatter",
    "How runs differ",
    "The ranks of the same rows in the chosen pairs of runs.",
    120,
    _make_rank_scatter,
)
