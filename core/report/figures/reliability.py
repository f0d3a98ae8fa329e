"""How often rows of each predicted probability have an effect, or go up."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.plots import reliability
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.report.results import captioned
from core.scoring.calibration_result import NUMBERS, RANKS, CalibrationResult
from core.scoring.run_scores import RunRows


def of_runs(runs: Sequence[RunRows], name: str) -> CaptionedFigure:
    """Return the reliability of a probability of runs in one figure."""
    made = {rows.run.name: captioned(CalibrationResult.of(rows, name), rows.run.name) for rows in runs}
    if len(made) == 1:
        return next(iter(made.values()))
    drawn = {run: one for run, one in made.items() if one.chart is not None}
    title, subject = f"Reliability of {name}", f"{len(runs)} runs"
    sentence = " ".join(one.sentence for one in made.values())
    if not drawn:
        return CaptionedFigure(title, subject, sentence)
    tables = {run: one.table for run, one in drawn.items()}
    caption = f"{subject} · {'; '.join(one.caption for one in drawn.values())}"
    chart = reliability.overlay_figure(tables, name)
    table = pd.concat(tables, names=["run", "bin"]).reset_index("run").reset_index(drop=True)
    return CaptionedFigure(title, subject, sentence, caption, chart, table, f"{name} against observed shares, {subject}")


def _make(material: Material) -> Sequence[CaptionedFigure]:
    calibrated = [material.rows[run.id] for run in material.labelled_runs if not run.has_rank_scores]
    ranked = [run for run in material.labelled_runs if run.has_rank_scores]
    return [
        *(of_runs(calibrated, name) for name in NUMBERS if calibrated),
        *(CaptionedFigure("Reliability", run.name, f"{run.name}: {RANKS}") for run in ranked),
        *material.say_unlabelled("Reliability"),
    ]


FIGURE = FigureKind("reliability", "Reliability", "Predicted probabilities against observed shares.", 90, _make)
