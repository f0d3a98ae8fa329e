"""What the feature neighbours brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page, Tab

FEATURE = Feature(
    "neighbours",
    "Gene spaces, and what the labels of similar genes say.",
    pages=(Page("neighbours", "Neighbours", "hub", group="Score"),),
    tabs=(
        Tab(
            "data",
            "Spaces and leaks",
            "core.features.neighbours.page.spaces_tab:show",
            "Gene spaces",
            order=20,
        ),
    ),
    commands={
        "embed": Command(
            "core.features.neighbours.commands:spaces_app",
            "Gene spaces: build, load, list.",
            "Data",
        ),
        "neighbours": Command(
            "core.features.neighbours.commands:app",
            "List the labelled rows behind a row's priors.",
            "Look",
        ),
        "knn": Command(
            "core.features.neighbours.commands:app",
            "Predict from the labels of similar genes.",
            "Predict",
        ),
    },
    protocol_sentences=("core.features.neighbours.page.loaders:protocol_sentences",),
    row_sources=("core.features.neighbours.page.neighbour_controls:show_sources",),
    spaces=("core.features.neighbours.spaces:load",),
    needs=("importing",),
)
