"""What the feature cells brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Tab

FEATURE = Feature(
    "cells",
    "Labels from a screen of single cells, and runs from predicted expression.",
    tabs=(
        Tab("data", "Import", "core.features.cells.page:show_predictions", order=11),
        Tab(
            "data",
            "Import",
            "core.features.cells.page:show_labels",
            "Screens of single cells",
            order=13,
        ),
    ),
    commands={
        "cells": Command(
            "core.features.cells.commands:app",
            "Single cells: labels from a screen, runs from predicted expression.",
            "Data",
        ),
    },
    jobs=("core.features.cells.jobs:KIND",),
    control_expression=("core.features.cells.actions:control_expression_of",),
    file_formats=("core.features.cells.cell_formats:describe_cells",),
    upload_tasks={"predictions": "core.features.cells.predictions:predictions_task"},
    needs=("importing",),
)
