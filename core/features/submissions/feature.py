"""What the feature submissions brings."""

from __future__ import annotations

from core.base.feature import Command, Feature

FEATURE = Feature(
    "submissions",
    "Submissions for the tracks: checked and packaged.",
    commands={
        "check": Command(
            "core.features.submissions.commands:app", "List every problem of a submission.", "Show"
        ),
        "package": Command(
            "core.features.submissions.commands:app", "Write a run as a submission.", "Show"
        ),
    },
    upload_tasks={"check": "core.features.submissions.actions:check_task"},
    needs=("importing",),
)
