"""What the feature arguments brings."""

from __future__ import annotations

from core.base.feature import Feature

FEATURE = Feature(
    "arguments",
    "Questions asked of every text of a run, answered by rules, models and people.",
    row_panels=("core.features.arguments.row_panel:show",),
)
