"""Data: what do we have, and can it be trusted?"""

import streamlit as st

from core.ui import data_tabs, leakage_tab, loaders, shell, spaces_tab, widgets

view = shell.enter(__file__)
st.markdown("## Data")
imports, rejected = loaders.import_list()
widgets.tabs(
    "tab",
    {
        "Import": lambda: data_tabs.bring_in(view),
        "Leakage": lambda: leakage_tab.show(view),
        "Spaces": lambda: spaces_tab.show(view),
        "Imported files": lambda: data_tabs.imported(view, imports),
        "Rejected rows": lambda: data_tabs.rejected(rejected),
        "Runs": lambda: data_tabs.manage_run(view),
        "Changes": lambda: data_tabs.changes(loaders.latest_changes()),
    },
)
