"""What the feature fuse brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page

FEATURE = Feature(
    "fuse",
    "Runs fused by rank percentiles, with weights that move.",
    pages=(Page("fuse", "Fuse", "tune", group="Score"),),
    commands={
        "fuse": Command(
            "core.features.fuse.commands:app",
            "Fuse runs by rank percentiles, or take a fusion apart.",
            "Predict",
        ),
    },
    hand_tools=("core.features.fuse.explorer.travel:find_explorer",),
    report_commands=("core.features.fuse.commands:report_app",),
    needs=("neighbours",),
)
