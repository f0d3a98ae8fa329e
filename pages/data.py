"""Data: what do we have, and can it be trusted?"""

import streamlit as st

from core.ui.data import cells_tab, changes_tab, import_tabs, leakage_tab, notes_tab, spaces_tab
from core.ui.shared import loaders, shell, widgets

context = shell.open_page(__file__)
st.markdown("## Data")
widgets.show_tabs(
    "tab",
    {
        "Import": lambda: import_tabs.show_import(context),
        "Cells": lambda: cells_tab.show(context),
        "Leakage": lambda: leakage_tab.show(context),
        "Spaces": lambda: spaces_tab.show(context),
        "Imported files": lambda: import_tabs.show_imports(context, loaders.all_imports()),
        "Rejected rows": lambda: import_tabs.show_rejected_rows(loaders.rejected_rows()),
        "Runs": lambda: import_tabs.show_run(context),
        "Notes": lambda: notes_tab.show(context),
        "Changes": lambda: changes_tab.show(loaders.latest_changes(), loaders.chain_findings()[1]),
    },
)
