"""How often a run is wrong on the rows that it is surest of: risk against coverage."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.plots import risk_coverage
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.abstaining import Curves, abstain_curves, abstain_summary
from core.scoring.sentences import TWO_WAY

TITLE = "Risk against coverage"


def of_curves(run: str, found: Curves) -> CaptionedFigure:
    """Return the curves of a run of this name."""
    lines = [
        (name, point.coverage, point.n, *point.risk.ends, curve.at_random)
        for name, curve in found.items()
        if curve is not None
        for point in curve.points
    ]
    sentence = " ".join(f"{each}." for each in abstain_summary(found))
    if not lines:
        return CaptionedFigure(TITLE, run, f"{run}: {sentence}")
    table = pd.DataFrame(lines, columns=list(risk_coverage.COLUMNS))
    return CaptionedFigure(TITLE, run, sentence, f"{run} · 95% intervals {TWO_WAY}", risk_coverage.figure(table), table)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    found = [of_curves(run.name, abstain_curves(material.rows[run.id])) for run in material.labelled_runs]
    return [*found, *material.say_unlabelled(TITLE)]


FIGURE = FigureKind("risk_coverage", TITLE, "How often the run is wrong on its surest rows.", 76, _make, by_default=False)
