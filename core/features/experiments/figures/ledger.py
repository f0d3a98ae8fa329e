"""The ledger of hypotheses: which survive, and the scores in order, with the noise of one score."""

from __future__ import annotations

from core.features.experiments.ledger_result import ledger_of
from core.features.sharing.report.figure_kind import FigureKind
from core.plots.results import captioned

FIGURE = FigureKind(
    "ledger",
    "The ledger of hypotheses",
    "Which ideas survived, with corrected p, and the scores in order.",
    95,
    lambda material: [captioned(ledger_of(material.ledger, material.find.looked()), "")],
)
