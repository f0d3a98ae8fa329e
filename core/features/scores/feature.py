"""What the feature scores brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page

FEATURE = Feature(
    "scores",
    "Scores with intervals, slices and calibration; two runs compared; baselines without biology.",
    kept_results=("core.scoring.kept_scores:missing_scores",),
    pages=(
        Page("scores", "Scores", "bar_chart", group="Score"),
        Page("compare", "Compare", "compare_arrows", group="Score"),
    ),
    commands={
        "score": Command(
            "core.features.scores.commands:app", "Score a run: AUROCs with intervals.", "Judge"
        ),
        "compare": Command(
            "core.features.scores.commands:app",
            "Compare run B with run A, or several runs.",
            "Judge",
        ),
        "controls": Command(
            "core.features.scores.commands:app",
            "Score baselines without biology on a run's rows.",
            "Judge",
        ),
        "bench": Command(
            "core.features.scores.commands:app",
            "Time the code against a plain implementation.",
            "Operate",
            is_hidden=True,
        ),
    },
    report_parts=(
        "core.features.scores.report_parts:BASELINES",
        "core.features.scores.report_parts:SLICES",
        "core.features.scores.report_parts:ROC_CURVES",
        "core.features.scores.report_parts:MACRO_SCORES",
        "core.features.scores.report_parts:SCORE_SPREAD",
        "core.features.scores.report_parts:RELIABILITY",
        "core.features.scores.report_parts:PAIRED_CHANGES",
        "core.features.scores.report_parts:RANK_SCATTER",
    ),
)
