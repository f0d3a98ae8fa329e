"""What the feature leakage brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Tab

FEATURE = Feature(
    "leakage",
    "What splits share, and which rows, texts, spaces and runs give labels away.",
    tabs=(Tab("data", "Spaces and leaks", "core.features.leakage.page:show", "Leaks", order=21),),
    commands={
        "audit": Command(
            "core.features.leakage.commands:app", "Audit debates and leakage.", "Judge"
        ),
    },
    concerns=("core.features.leakage.audit:find_leaks",),
)
