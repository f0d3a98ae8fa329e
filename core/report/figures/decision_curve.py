"""The decision curve of a run's P(DE): what validating rows above a threshold is worth."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from core.plots import decision_curve
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.scoring.class_scores import RANKS, ClassScores, curve_sentence, score_classes
from core.scoring.sentences import TWO_WAY

TITLE = "Decision curve"


def of_scores(run: str, found: ClassScores) -> CaptionedFigure:
    """Return the curve of a run of this name."""
    if not found.curve:
        return CaptionedFigure(TITLE, run, f"{run}: {RANKS}")
    lines = [(one.threshold, one.chosen, *one.benefit.shown.ends, one.everything) for one in found.curve]
    table = pd.DataFrame(lines, columns=list(decision_curve.COLUMNS))
    caption = f"{run} · {found.curve[0].benefit.n:,} rows with a label · 95% intervals {TWO_WAY}"
    sentence = curve_sentence(found.curve)
    return CaptionedFigure(TITLE, run, sentence, caption, decision_curve.figure(table, "P(DE)"), table)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    found = [of_scores(run.name, score_classes(material.rows[run.id])) for run in material.labelled_runs]
    return [*found, *material.say_unlabelled(TITLE)]


FIGURE = FigureKind("decision_curve", TITLE, "The value of validating rows above a threshold.", 75, _make, by_default=False)
