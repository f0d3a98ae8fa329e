"""What the feature cells brings."""

from __future__ import annotations

from core.base.feature import Command, Feature

FEATURE = Feature(
    "cells",
    "Labels from a screen of single cells, and runs from predicted expression.",
    commands={
        "cells": Command(
            "core.features.cells.commands:app",
            "Single cells: labels from a screen, runs from predicted expression.",
            "Data",
        ),
    },
    jobs=("core.features.cells.jobs:KIND",),
    upload_tasks={"predictions": "core.features.cells.predictions:predictions_task"},
    needs=("importing",),
)
