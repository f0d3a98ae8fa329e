"""The ROC curves of a run for DE and DIR, beside those of the no-biology baseline."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.plots import roc_curves
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring import run_scores
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.sentences import TWO_WAY, interval_text, scored_text
from core.texts import NO_BIOLOGY, number_text

MOST_OVERLAID = 4  # runs whose curves can be distinguished in one figure


def of_run(rows: RunRows, score: RunScore) -> CaptionedFigure:
    """Return the curves of a run that has labels, and its score."""
    run = rows.run
    table = roc_curves.table(rows.labels, {run.name: rows.scores, NO_BIOLOGY: run_scores.count_rows(rows).scores}, rows.cells)
    de, direction = (interval_text(part.shown) for part in (score.whole.de, score.whole.dir))
    caption = (
        f"{run.name} · {score.whole.n_labelled:,} labelled rows, {scored_text(rows.scored)} · "
        f"{NO_BIOLOGY}: how often genes were measured · AUROC of DE {de}, of DIR {direction}, 95% intervals {TWO_WAY}"
    )
    sentence = f"{run.name}: AUROC of DE {de}, of DIR {direction}."
    return CaptionedFigure("ROC curves of DE and DIR", run.name, sentence, caption, roc_curves.figure(table), table)


def of_runs(runs: Sequence[RunRows], scores: Sequence[RunScore]) -> CaptionedFigure:
    """Return the curves of two or more labelled runs, each over its own rows, and the baseline on the rows of the first."""
    first = runs[0]
    curves = [roc_curves.table(each.labels, {each.run.name: each.scores}, each.cells) for each in runs]
    baseline = roc_curves.table(first.labels, {NO_BIOLOGY: run_scores.count_rows(first).scores}, first.cells)
    table = pd.concat([*curves, baseline], ignore_index=True)
    subject = f"{len(runs)} runs"
    rows = ", ".join(
        f"{each.run.name} {score.whole.n_labelled:,} labelled rows {scored_text(each.scored)}"
        for each, score in zip(runs, scores, strict=True)
    )
    caption = f"{subject} · {rows} · {NO_BIOLOGY} on the rows of {first.run.name} · 95% intervals {TWO_WAY}"
    said = ", ".join(
        f"{each.run.name} {interval_text(score.whole.de.shown)} and {interval_text(score.whole.dir.shown)}"
        for each, score in zip(runs, scores, strict=True)
    )
    best = max(range(len(runs)), key=lambda i: scores[i].whole.de.value)
    finding = f"The highest AUROC of DE is that of {runs[best].run.name}, {number_text(scores[best].whole.de.value)}"
    sentence = f"AUROC of DE and of DIR: {said}."
    return CaptionedFigure("ROC curves of DE and DIR", subject, sentence, caption, roc_curves.figure(table), table, finding)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    runs = material.labelled_runs
    found = []
    for part in (runs[i : i + MOST_OVERLAID] for i in range(0, len(runs), MOST_OVERLAID)):
        rows, scores = [material.rows[run.id] for run in part], [material.score(run.id) for run in part]
        found.append(of_run(rows[0], scores[0]) if len(part) == 1 else of_runs(rows, scores))
    return [*found, *material.say_unlabelled("ROC curves")]


FIGURE = FigureKind("roc_curves", "ROC curves", "True against false positive rates of DE and DIR.", 60, _make)
