"""The four tabs of the Data page, of the parts that belong together."""

from __future__ import annotations

import streamlit as st

from core.ui.data import cells_tab, changes_tab, import_tabs, leakage_tab, notes_tab, spaces_tab
from core.ui.shared import loaders
from core.ui.shared.shell import PageContext


def show_import(context: PageContext) -> None:
    """Show the ways to import, and below them what a screen of single cells was made into."""
    import_tabs.show_import(context)
    st.markdown("### Screens of single cells")
    cells_tab.show(context)


def show_spaces_and_leaks(context: PageContext) -> None:
    """Show the gene spaces with their coverage, and what splits, spaces and runs give away of the labels."""
    st.markdown("### Gene spaces")
    spaces_tab.show(context)
    st.markdown("### Leaks")
    leakage_tab.show(context)


def show_runs_and_notes(context: PageContext) -> None:
    """Show the chosen run and what may be changed of it, and all notes of the dataset."""
    st.markdown("### The chosen run")
    import_tabs.show_run(context)
    st.markdown("### Notes")
    notes_tab.show(context)


def show_history(context: PageContext) -> None:
    """Show what was imported, which rows could not be read, and every change."""
    st.markdown("### Imported files")
    import_tabs.show_imports(context, loaders.all_imports())
    st.markdown("### Rejected rows")
    import_tabs.show_rejected_rows(loaders.rejected_rows())
    st.markdown("### Changes")
    changes_tab.show(loaders.latest_changes(), loaders.chain_findings()[1])
