"""What the feature published brings."""

from __future__ import annotations

from core.base.feature import Command, Feature

FEATURE = Feature(
    "published",
    "Published numbers, computed again from a workspace's files.",
    commands={
        "reproduce": Command(
            "core.features.published.commands:app", "Recompute the published numbers.", "Judge"
        ),
    },
    needs=("leakage", "neighbours"),
)
