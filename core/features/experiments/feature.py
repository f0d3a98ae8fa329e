"""What the feature experiments brings."""

from __future__ import annotations

from core.base.feature import Command, Feature

FEATURE = Feature(
    "experiments",
    "Runs that differ in one thing, compared, with a verdict; and the ledger of hypotheses.",
    commands={
        "ledger": Command(
            "core.features.experiments.ledger_commands:app",
            "The ledger of hypotheses: register, record, list.",
            "Score",
        ),
    },
    jobs=("core.features.experiments.jobs:KIND",),
)
