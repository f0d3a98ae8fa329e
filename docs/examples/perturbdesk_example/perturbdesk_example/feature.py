"""What the feature flags brings. It is found by the entry point in pyproject.toml."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page

FEATURE = Feature(
    "flags",
    "What is odd about the rows of a run.",
    pages=(Page("flags", "Flags", "flag", group="More", show="perturbdesk_example.page:show"),),
    commands={
        "flags": Command("perturbdesk_example.commands:app", "Count the flags of a run.", "Judge")
    },
    jobs=("perturbdesk_example.job:KIND",),
    file_kinds=("perturbdesk_example.calls_file:read_calls",),
    report_parts=("perturbdesk_example.report:PART",),
)
