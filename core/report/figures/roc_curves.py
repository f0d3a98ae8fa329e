"""The ROC curves of runs for DE and DIR, beside those of the no-biology baseline."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.plots import roc_curves
from core.report.captioned import CaptionedFigure, of_each_run, subject_of
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring import run_scores
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.sentences import TWO_WAY, interval_text, scored_text
from core.texts import NO_BIOLOGY, number_text

_TITLE = "ROC curves of DE and DIR"
MOST_OVERLAID = 4  # runs whose curves can be distinguished in one figure


def of_runs(runs: Sequence[RunRows], scores: Sequence[RunScore]) -> CaptionedFigure:
    """Return the curves of labelled runs, each over its own rows, and the baseline on the rows of the first."""
    first, names = runs[0], [each.run.name for each in runs]
    curves = [roc_curves.table(each.labels, {each.run.name: each.scores}, each.cells) for each in runs]
    baseline = roc_curves.table(first.labels, {NO_BIOLOGY: run_scores.count_rows(first).scores}, first.cells)
    table, subject = pd.concat([*curves, baseline], ignore_index=True), subject_of(names)
    facts = of_each_run(
        names,
        [
            f"{score.whole.n_labelled:,} labelled rows, {scored_text(each.scored)}"
            for each, score in zip(runs, scores, strict=True)
        ],
    )
    caption = f"{facts} · {NO_BIOLOGY}: how often genes were measured, on the rows of {names[0]} · 95% intervals {TWO_WAY}"
    said = ", ".join(
        f"{name} {interval_text(score.whole.de.shown)} and {interval_text(score.whole.dir.shown)}"
        for name, score in zip(names, scores, strict=True)
    )
    best = max(range(len(runs)), key=lambda i: scores[i].whole.de.value)
    highest = f"The highest AUROC of DE is that of {names[best]}, {number_text(scores[best].whole.de.value)}"
    finding = highest if len(runs) > 1 else ""
    sentence = f"AUROC of DE and of DIR: {said}."
    return CaptionedFigure(_TITLE, subject, sentence, caption, roc_curves.figure(table), table, finding)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    runs = material.labelled_runs
    parts = (runs[i : i + MOST_OVERLAID] for i in range(0, len(runs), MOST_OVERLAID))
    found = [of_runs([material.rows[run.id] for run in part], [material.score(run.id) for run in part]) for part in parts]
    return [*found, *material.say_unlabelled("ROC curves")]


FIGURE = FigureKind("roc_curves", "ROC curves", "True against false positive rates of DE and DIR.", 60, _make)
