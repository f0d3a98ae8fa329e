"""What the feature sharing brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page

FEATURE = Feature(
    "sharing",
    "Reports, slides, walk-throughs and sites, as files for others.",
    pages=(Page("share", "Share", "outbox", group="Make"),),
    commands={
        "report": Command(
            "core.features.sharing.commands:app",
            "Reports, walk-throughs and sites, as files for others.",
            "Show",
        ),
    },
    keepers=("core.features.sharing.page.stop_buttons:show",),
    run_files=("core.features.sharing.page.stop_buttons:show_site",),
)
