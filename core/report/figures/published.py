"""Published numbers, recomputed: ours beside them, with the reason where they differ or cannot be computed."""

from __future__ import annotations

from collections.abc import Sequence

from core.report.captioned import CaptionedFigure
from core.report.figure_kind import FigureKind
from core.report.material import Material
from core.report.results import captioned


def _make(material: Material) -> Sequence[CaptionedFigure]:
    return [captioned(material.published_numbers(), material.dataset.name)]


FIGURE = FigureKind(
    "published",
    "Published numbers, recomputed",
    "Published numbers beside recomputed ones; this takes seconds, or a minute with a sentence encoder.",
    90,
    _make,
    by_default=False,
)
