"""What the feature experiments brings."""

from __future__ import annotations

from core.base.feature import Feature

FEATURE = Feature("experiments", "Runs that differ in one thing, compared, with a verdict; and the ledger of hypotheses.")
