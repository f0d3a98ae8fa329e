"""What the feature targets brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page

FEATURE = Feature(
    "targets",
    "Target ranking: which gene was perturbed.",
    pages=(
        Page(
            "targets",
            "Targets",
            "my_location",
            group="More",
            holds="core.features.targets.jobs:has_rankings",
        ),
    ),
    commands={
        "targets": Command(
            "core.features.targets.commands:app",
            "Target ranking: which gene was perturbed.",
            "Predict",
        ),
    },
    jobs=("core.features.targets.jobs:KIND",),
    needs=("cells",),
)
