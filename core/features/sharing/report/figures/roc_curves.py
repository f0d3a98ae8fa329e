"""The ROC curves of runs for DE and DIR, beside those of the no-biology baseline."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.base.texts import NO_BIOLOGY
from core.features.sharing.report.figure_kind import FigureKind
from core.features.sharing.report.material import Material
from core.plots import roc_curves
from core.plots.captioned import CaptionedFigure, together
from core.scoring import run_scores
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.sentences import TWO_WAY, interval_text, scored_text

_TITLE = "ROC curves of DE and DIR"
MOST_OVERLAID = 4  # runs whose curves can be distinguished in one figure


def of_run(rows: RunRows, score: RunScore) -> CaptionedFigure:
    """Return the curves of a labelled run and of the baseline on its rows."""
    name, whole = rows.run.name, score.whole
    curves = {name: rows, NO_BIOLOGY: run_scores.count_rows(rows)}
    table = pd.concat(
        [
            roc_curves.table(rows.labels, {who: each.scores}, rows.cells)
            for who, each in curves.items()
        ],
        ignore_index=True,
    )
    return CaptionedFigure(
        _TITLE,
        name,
        f"AUROC of DE and of DIR: {name} {interval_text(whole.de.shown)} and"
        f" {interval_text(whole.dir.shown)}.",
        f"{name} · {whole.n_labelled:,} labelled rows, {scored_text(rows.scored)} · {NO_BIOLOGY}:"
        f" how often genes were measured, on the rows of the first run · 95% intervals {TWO_WAY}",
        roc_curves.figure(table),
        table,
    )


def _make(material: Material) -> Sequence[CaptionedFigure]:
    made = [of_run(material.rows[run.id], material.score(run.id)) for run in material.labelled_runs]
    parts = (made[i : i + MOST_OVERLAID] for i in range(0, len(made), MOST_OVERLAID))
    return [
        *(together(part, roc_curves.figure) for part in parts),
        *material.say_unlabelled("ROC curves"),
    ]


FIGURE = FigureKind(
    "roc_curves", "ROC curves", "True against false positive rates of DE and DIR.", 60, _make
)
