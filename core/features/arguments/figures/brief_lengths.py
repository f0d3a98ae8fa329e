"""The lengths of each role's briefs, and whether the advocates argued."""

from __future__ import annotations

from collections.abc import Sequence

from core.features.sharing.report.figure_kind import FigureKind
from core.features.sharing.report.material import Material
from core.plots.captioned import CaptionedFigure
from core.plots.results import captioned

_TITLE = "Lengths of the briefs"


def _make(material: Material) -> Sequence[CaptionedFigure]:
    audits = [material.audits[run.id] for run in material.runs]
    without = (
        f"{audit.run}: it writes no briefs, so there is no debate to audit."
        for audit in audits
        if not audit.roles
    )
    return [
        *(captioned(audit, audit.run) for audit in audits if audit.roles),
        *(CaptionedFigure(_TITLE, sentence.partition(":")[0], sentence) for sentence in without),
    ]


FIGURE = FigureKind(
    "brief_lengths", "Did the advocates argue?", "Lengths of the briefs of each role.", 100, _make
)
