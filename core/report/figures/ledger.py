"""The ledger of hypotheses: which survive, and the scores in order, with the noise of one score."""

from __future__ import annotations

from collections.abc import Sequence

from core.features.experiments.ledger_result import ledger_of
from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.report.results import captioned


def _make(material: Material) -> Sequence[CaptionedFigure]:
    return [captioned(ledger_of(material.ledger, material.find.looked()), "")]


FIGURE = FigureKind(
    "ledger", "The ledger of hypotheses", "Which ideas survived, with corrected p, and the scores in order.", 95, _make
)
