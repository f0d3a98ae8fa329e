"""What the feature asking brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page

FEATURE = Feature(
    "asking",
    "One pair asked about live; a row asked again with another dossier, beside asking the same"
    " again.",
    pages=(Page("ask", "Ask", "record_voice_over", group="Make"),),
    commands={
        "ask": Command(
            "core.features.asking.commands:app",
            "Ask about one pair and read the argument.",
            "Predict",
        ),
    },
    methods=("core.features.asking.methods.debate_again:METHOD",),
    row_panels=("core.features.asking.panel:show",),
)
