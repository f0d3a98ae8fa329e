"""Published numbers, recomputed: ours beside them, with the reason where they differ or cannot be
computed."""

from __future__ import annotations

from core.features.published.reproduce import reproduce_numbers
from core.plots.captioned import captioned
from core.scoring.report_part import ReportPart

PART = ReportPart(
    "published",
    "Published numbers, recomputed",
    "Published numbers beside recomputed ones; this takes seconds, or a minute with a sentence"
    " encoder.",
    90,
    lambda workspace, shown: [captioned(reproduce_numbers(workspace), shown.dataset.name)],
    by_default=False,
)
