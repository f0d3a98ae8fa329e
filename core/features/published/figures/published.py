"""Published numbers, recomputed: ours beside them, with the reason where they differ or cannot be
computed."""

from __future__ import annotations

from core.features.sharing.report.figure_kind import FigureKind
from core.plots.results import captioned

FIGURE = FigureKind(
    "published",
    "Published numbers, recomputed",
    "Published numbers beside recomputed ones; this takes seconds, or a minute with a sentence"
    " encoder.",
    90,
    lambda material: [captioned(material.published_numbers(), material.dataset.name)],
    by_default=False,
)
