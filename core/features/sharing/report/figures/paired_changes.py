"""The paired differences of two runs in DE, DIR and their mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from core.features.sharing.report.figure_kind import FigureKind
from core.features.sharing.report.material import Material
from core.plots.captioned import CaptionedFigure
from core.plots.results import captioned
from core.scoring.compare_runs import RunComparison


def of_pair(comparison: RunComparison) -> CaptionedFigure:
    """Return a run less a baseline, with intervals by every unit of resampling."""
    a, b = comparison.names
    return replace(captioned(comparison, f"{b} against {a}"), finding=comparison.finding)


def _make(material: Material) -> Sequence[CaptionedFigure]:
    figures = [of_pair(material.comparison(a.id, b.id)) for a, b in material.comparisons]
    return figures or [
        CaptionedFigure("Paired changes", "", "No two runs were chosen for comparison.")
    ]


FIGURE = FigureKind(
    "paired_changes",
    "Is one run better?",
    "Paired differences of the chosen pairs of runs.",
    110,
    _make,
)
