"""The ROC curves of a run for DE and DIR, beside those of the no-biology baseline."""

from __future__ import annotations

from collections.abc import Sequence

from core.plots import roc_curves
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring import run_scores
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.sentences import TWO_WAY, interval_text, scored_text
from core.texts import NO_BIOLOGY


def of_run(rows: RunRows, score: RunScore) -> CaptionedFigure:
    """The curves of a run that has labels, and its score."""
    run = rows.run
    table = roc_curves.table(rows.labels, {run.name: rows.scores, NO_BIOLOGY: run_scores.count_rows(rows).scores}, rows.cells)
    de, direction = (interval_text(part.shown) for part in (score.whole.de, score.whole.dir))
    caption = (
        f"{run.name} · {len(rows):,} rows, {scored_text(rows.scored)} · {NO_BIOLOGY}: how often genes were measured · "
        f"AUROC of DE {de}, of DIR {direction}, 95% intervals {TWO_WAY}"
    )
    sentence = f"{run.name}: AUROC of DE {de}, of DIR {direction}."
    return CaptionedFigure("ROC curves of DE and DIR", run.name, sentence, caption, roc_curves.figure(table), table)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    return [
        material.without_labels(run, "ROC curves")
        if material.score(run.id).whole.n_labelled == 0
        else of_run(material.rows[run.id], material.score(run.id))
        for run in material.runs
    ]


FIGURE = FigureKind("roc_curves", "ROC curves", "True against false positive rates of DE and DIR.", 60, _make)
