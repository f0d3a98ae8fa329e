"""How often rows of each predicted probability have an effect, or go up."""

from __future__ import annotations

from collections.abc import Sequence

from core.features.scores.calibration import NUMBERS, RANKS, CalibrationResult
from core.features.sharing.report.figure_kind import FigureKind
from core.features.sharing.report.material import Material
from core.plots.captioned import CaptionedFigure
from core.plots.results import captioned_runs


def _make(material: Material) -> Sequence[CaptionedFigure]:
    calibrated = [
        material.rows[run.id] for run in material.labelled_runs if not run.has_rank_scores
    ]
    of_numbers = (
        [(rows.run.name, CalibrationResult.of(rows, name)) for rows in calibrated]
        for name in NUMBERS
    )
    return [
        *(captioned_runs(results) for results in of_numbers if results),
        *(
            CaptionedFigure("Reliability", run.name, f"{run.name}: {RANKS}")
            for run in material.labelled_runs
            if run.has_rank_scores
        ),
        *material.say_unlabelled("Reliability"),
    ]


FIGURE = FigureKind(
    "reliability", "Reliability", "Predicted probabilities against observed shares.", 90, _make
)
