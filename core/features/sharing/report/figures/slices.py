"""The score of each slice of a run's rows; of several runs in one figure."""

from __future__ import annotations

from collections.abc import Sequence

from core.features.sharing.report.figure_kind import FigureKind
from core.features.sharing.report.material import Material
from core.plots.captioned import CaptionedFigure
from core.plots.results import captioned_runs
from core.scoring.slices import GENE_ROWS_KIND, SlicesResult


def _make(material: Material) -> Sequence[CaptionedFigure]:
    results = []
    for run in material.labelled_runs:
        scores = material.score(run.id), material.count_score(run.id)
        results.append(
            (run.name, SlicesResult.of(material.rows[run.id], GENE_ROWS_KIND, "mean", *scores))
        )
    beside = {"by": "slice", "names": "run", "overall": None, "control": None}
    figures = [captioned_runs(results, **beside)] if results else []
    return [*figures, *material.say_unlabelled("Slices")]


FIGURE = FigureKind(
    "slices",
    "Where the score comes from",
    "The score by how often genes were measured, by cost.",
    50,
    _make,
)
