"""What the feature reading brings."""

from __future__ import annotations

from core.base.feature import Command, Feature, Page, Tab

FEATURE = Feature(
    "reading",
    "The dataset, its rows and what was argued about them: Overview, Rows, Search, genes, notes.",
    pages=(
        Page("overview", "Overview", "dashboard"),
        Page("perturbation", "Perturbation", "", is_hidden=True),
        Page("gene", "Target gene", "", is_hidden=True),
        Page("rows", "Rows", "forum", group="Read"),
        Page("search", "Search", "search", group="Read"),
    ),
    tabs=(
        Tab("data", "Runs and notes", "core.features.reading.notes_tab:show", "Notes", order=31),
    ),
    commands={
        "search": Command(
            "core.features.reading.commands:app",
            "Find a word or phrase in traces and dossiers.",
            "Look",
        ),
        "note": Command(
            "core.features.reading.commands:note_app",
            "Notes on runs and their rows: add, list, delete.",
            "Look",
        ),
    },
    report_parts=(
        "core.features.reading.report_parts:LABELS",
        "core.features.reading.report_parts:LADDER",
    ),
    first_page=("core.features.reading.overview.summary:load_default",),
    row_reasons=("core.features.reading.row_reason:reason_of_row",),
)
