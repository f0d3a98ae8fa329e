"""What the feature demo brings."""

from __future__ import annotations

from core.base.feature import Feature

FEATURE = Feature(
    "demo",
    "The simulated demo: a dataset with its runs.",
    needs=("importing",),
)
