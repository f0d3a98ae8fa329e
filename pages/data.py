"""Data: what do we have, and can it be trusted?"""

import streamlit as st

from core.ui.data import import_tabs, leakage_tab, spaces_tab
from core.ui.shared import loaders, shell, widgets

view = shell.enter(__file__)
st.markdown("## Data")
widgets.tabs(
    "tab",
    {
        "Import": lambda: import_tabs.bring_in(view),
        "Leakage": lambda: leakage_tab.show(view),
        "Spaces": lambda: spaces_tab.show(view),
        "Imported files": lambda: import_tabs.imported(view, loaders.all_imports()),
        "Rejected rows": lambda: import_tabs.rejected(loaders.rejected_rows()),
        "Runs": lambda: import_tabs.manage_run(view),
        "Changes": lambda: import_tabs.changes(loaders.latest_changes()),
    },
)
