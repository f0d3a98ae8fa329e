"""What the feature demo brings."""

from __future__ import annotations

from core.base.feature import Command, Feature

FEATURE = Feature(
    "demo",
    "The simulated demo: a dataset with its runs.",
    commands={
        "demo": Command(
            "core.features.demo.commands:app",
            "Create the simulated demo: a dataset with its runs.",
            "Data",
        ),
    },
    empty_workspace=("core.features.demo.actions:make_demo",),
    needs=("importing",),
)
