"""The score of each slice of a run's rows; of several runs in one figure."""

from __future__ import annotations

from collections.abc import Sequence

from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.report.results import captioned_runs
from core.scoring.slices import GENE_ROWS_KIND, SlicesResult


def _make(material: Material) -> Sequence[CaptionedFigure]:
    results = [(run.name, _slices(material, run.id)) for run in material.labelled_runs]
    beside = {"by": "slice", "names": "run", "overall": None, "control": None}
    figures = [captioned_runs(results, **beside)] if results else []
    return [*figures, *material.say_unlabelled("Slices")]


def _slices(material: Material, run: str) -> SlicesResult:
    scores = material.score(run), material.count_score(run)
    return SlicesResult.of(material.rows[run], GENE_ROWS_KIND, "mean", *scores)


FIGURE = FigureKind("slices", "Where the score comes from", "The score by how often genes were measured, by cost.", 50, _make)
