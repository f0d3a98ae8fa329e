"""What the feature demo brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Tab

FEATURE = Feature(
    "demo",
    "The simulated demo: a dataset with its runs.",
    tabs=(Tab("data", "Import", "core.features.demo.page:show", order=12),),
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
