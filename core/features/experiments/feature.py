"""What the feature experiments brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page

FEATURE = Feature(
    "experiments",
    "Runs that differ in one thing, compared, with a verdict; and the ledger of hypotheses.",
    pages=(
        Page(
            "experiments",
            "Experiments",
            "science",
            group="More",
            holds="core.features.experiments.jobs:has_experiments",
        ),
    ),
    commands={
        "experiment": Command(
            "core.features.experiments.commands:app",
            "Runs that differ in one thing: plan, make, compare.",
            "Judge",
        ),
        "ledger": Command(
            "core.features.experiments.commands:ledger_app",
            "The ledger of hypotheses: register, record, list.",
            "Judge",
        ),
    },
    report_parts=("core.features.experiments.plots:PART",),
    looks=("core.features.experiments.comparison_log:count_comparisons",),
    jobs=("core.features.experiments.jobs:KIND",),
)
