"""The four tabs of the Data page, each with related parts.

Data, tab History: who changed what, when.
"""

from __future__ import annotations

import json
import re

import pandas as pd
import streamlit as st

from core.features.cells.page import labels_tab
from core.features.importing.page import import_tabs
from core.features.leakage import page as leakage_tab
from core.features.neighbours.page import spaces_tab
from core.features.reading.page import notes_tab
from core.ui import tables
from core.ui.loaders.records import all_imports, latest_changes, rejected_rows
from core.ui.shell import PageContext
from core.ui.widgets import as_text, show_empty

_HASH = re.compile(r"\b[0-9a-f]{64}\b")
_HASH_DIGITS = 12  # characters of a SHA-256, enough to distinguish files


def show_import(context: PageContext) -> None:
    """Show the ways to import, and below them the datasets made from screens of single cells."""
    import_tabs.show_import(context)
    st.markdown("### Screens of single cells")
    labels_tab.show(context)


def show_spaces_and_leaks(context: PageContext) -> None:
    """Show the gene spaces with their coverage, and what splits, spaces and runs reveal of the
    labels."""
    st.markdown("### Gene spaces")
    spaces_tab.show(context)
    st.markdown("### Leaks")
    leakage_tab.show(context)


def show_runs_and_notes(context: PageContext) -> None:
    """Show the chosen run with its forms, and all notes of the dataset."""
    st.markdown("### The chosen run")
    import_tabs.show_run(context)
    st.markdown("### Notes")
    notes_tab.show(context)


def show_history(context: PageContext) -> None:
    """Show what was imported, which rows could not be read, and every change."""
    st.markdown("### Imported files")
    import_tabs.show_imports(context, all_imports())
    st.markdown("### Rejected rows")
    rejected = rejected_rows()
    if rejected.empty:
        show_empty("Every row of every imported file could be read.")
    else:
        counts = rejected.groupby(["file", "reason"]).size().rename("rows").reset_index()
        tables.show_table(counts, "rejected rows counted")
        tables.show_table(rejected, "rejected rows", height="auto")
    st.markdown("### Changes")
    changes = latest_changes()
    if changes.empty:
        show_empty("Nothing has been changed yet.")
        return
    shown = pd.DataFrame(
        {
            "when": changes["changed_at"].dt.strftime("%Y-%m-%d %H:%M"),
            "by": changes["author"].map(as_text),
            "what": changes["action"].map(as_text),
            "of": changes["subject"].map(as_text),
            "detail": changes["detail"].map(detail_text).map(as_text),
        }
    )
    # the style sheet sets its column widths; a static table wraps its lines
    with st.container(key="changes"):
        st.table(shown, border="horizontal", hide_index=True, alt="The latest changes")


def detail_text(detail: str) -> str:
    """Return the detail of a change, recorded as JSON, as "rows: 2,499, name: debate"; a SHA-256 is
    shortened.

    Text that is not a JSON object, since the store's file was edited, is shown unchanged.
    """
    try:
        recorded = json.loads(detail)
    except ValueError:
        return detail
    if not isinstance(recorded, dict):
        return detail
    return ", ".join(
        f"{name.replace('_', ' ')}: {_value_text(value)}" for name, value in recorded.items()
    )


def _value_text(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return _HASH.sub(lambda found: found[0][:_HASH_DIGITS], str(value))
