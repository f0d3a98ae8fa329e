"""What the feature asking brings."""

from __future__ import annotations

from core.base.feature import Feature

FEATURE = Feature(
    "asking",
    "A row of a debate asked again with another dossier, beside asking the same again.",
    row_panels=("core.features.asking.panel:show",),
)
