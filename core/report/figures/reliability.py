"""How often rows of each predicted probability have an effect, or go up."""

from __future__ import annotations

from collections.abc import Sequence

from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.report.results import captioned_runs
from core.scoring.calibration_result import NUMBERS, RANKS, CalibrationResult


def _make(material: Material) -> Sequence[CaptionedFigure]:
    calibrated = [material.rows[run.id] for run in material.labelled_runs if not run.has_rank_scores]
    of_numbers = ([(rows.run.name, CalibrationResult.of(rows, name)) for rows in calibrated] for name in NUMBERS)
    return [
        *(captioned_runs(results) for results in of_numbers if results),
        *(
            CaptionedFigure("Reliability", run.name, f"{run.name}: {RANKS}")
            for run in material.labelled_runs
            if run.has_rank_scores
        ),
        *material.say_unlabelled("Reliability"),
    ]


FIGURE = FigureKind("reliability", "Reliability", "Predicted probabilities against observed shares.", 90, _make)
