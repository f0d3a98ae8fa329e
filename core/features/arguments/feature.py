"""What the feature arguments brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page

FEATURE = Feature(
    "arguments",
    "Questions asked of every text of a run, answered by rules, models and people.",
    pages=(Page("arguments", "Arguments", "fact_check", group="Read"),),
    commands={
        "rubric": Command(
            "core.features.arguments.commands:app",
            "Rubrics: questions asked of every text of a run.",
            "Judge",
        ),
    },
    jobs=("core.features.arguments.jobs:KIND",),
    methods=(
        "core.features.arguments.methods.judge_rubric:METHOD",
        "core.features.arguments.methods.read_findings:METHOD",
    ),
    marks=("core.features.arguments.rubric_tables:passages",),
    row_panels=("core.features.arguments.row_panel:show",),
    report_parts=("core.features.arguments.brief_lengths:PART",),
)
