"""What the feature importing brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page, Tab

_PAGE = "core.features.importing.page.import_tabs"

FEATURE = Feature(
    "importing",
    "Files in and out: imports and their undo, bundles, exports, backups.",
    pages=(Page("data", "Data", "database", group="Workspace"),),
    tabs=(
        Tab("data", "Import", f"{_PAGE}:show_import", order=10),
        Tab(
            "data",
            "Runs and notes",
            f"{_PAGE}:show_run",
            "The chosen run",
            order=30,
        ),
        Tab("data", "History", f"{_PAGE}:show_history", order=40),
    ),
    commands={
        "import": Command(
            "core.features.importing.commands:app",
            "Import files or folders, recognised by content.",
            "Data",
        ),
        "fetch": Command(
            "core.features.importing.commands:app",
            "Download public files, pinned and checked.",
            "Data",
        ),
        "undo": Command(
            "core.features.importing.commands:app",
            "Undo an import: delete its rows and runs.",
            "Data",
        ),
        "export": Command(
            "core.features.importing.commands:app",
            "Write a run's predictions or traces, or all of it.",
            "Show",
        ),
        "backup": Command(
            "core.features.importing.commands:app",
            "Write the whole workspace to one file.",
            "Operate",
        ),
        "restore": Command(
            "core.features.importing.commands:app",
            "Fill an empty workspace from a backup.",
            "Operate",
        ),
    },
    uploads=("core.features.importing.page.after_import:show_usual_upload",),
    news=("core.features.importing.page.after_import:show",),
    upload_tasks={
        "import": "core.features.importing.actions:import_task",
        "preview": "core.features.importing.preview:preview_task",
    },
)
