"""The AUROC of runs over all rows, and its unweighted means over genes and over perturbations."""

from __future__ import annotations

from collections.abc import Sequence

from core.features.scores.means import TITLE, MeansResult
from core.features.sharing.report.figure_kind import FigureKind
from core.features.sharing.report.material import Material
from core.plots.captioned import CaptionedFigure
from core.plots.results import captioned_runs
from core.scoring.other_scores import METRICS


def _make(material: Material) -> Sequence[CaptionedFigure]:
    runs = material.labelled_runs
    figures = []
    for question in METRICS if runs else ():
        results = []
        for run in runs:
            own, counts = material.other_scores(run.id)
            result = MeansResult.of(
                material.rows[run.id], question, own, counts if run is runs[0] else None
            )
            results.append((run.name, result))
        figures.append(captioned_runs(results))
    return [*figures, *material.say_unlabelled(f"AUROC: {TITLE}")]


FIGURE = FigureKind(
    "macro_scores",
    "Genes and perturbations",
    "Mean AUROCs over genes and perturbations.",
    70,
    _make,
)
