"""What the feature finetune brings."""

from __future__ import annotations

from core.base.feature import Command, Feature

FEATURE = Feature(
    "finetune",
    "An open model fine-tuned on labelled rows (Track C).",
    commands={
        "finetune": Command(
            "core.features.finetune.commands:app",
            "Fine-tune an open model (Track C, LoRA).",
            "Predict",
        ),
    },
    jobs=("core.features.finetune.jobs:KIND",),
    methods=("core.features.finetune.local_model:METHOD",),
)
