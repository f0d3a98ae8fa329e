"""What the feature submissions brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Tab

FEATURE = Feature(
    "submissions",
    "Submissions for the tracks: checked and packaged.",
    tabs=(
        Tab("share", "Package a run", "core.features.submissions.page:show_run"),
        Tab("share", "Check a file", "core.features.submissions.page:show_check"),
    ),
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
