"""What the feature perturbqa brings."""

from __future__ import annotations

from core.base.feature import Command, Feature

FEATURE = Feature(
    "perturbqa",
    "Simple methods on a labelled split, beside published scores of PerturbQA.",
    commands={"baselines": Command("core.features.perturbqa.command:app", "Score simple methods on a split.", "Judge")},
)
