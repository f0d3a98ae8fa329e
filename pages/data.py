"""Data: what do we have, and can it be trusted?"""

import streamlit as st

from core.features.importing.page import tabs
from core.ui import shell, widgets

context = shell.open_page(__file__)
st.markdown("## Data")
widgets.show_tabs(
    "tab",
    {
        "Import": lambda: tabs.show_import(context),
        "Spaces and leaks": lambda: tabs.show_spaces_and_leaks(context),
        "Runs and notes": lambda: tabs.show_runs_and_notes(context),
        "History": lambda: tabs.show_history(context),
    },
)
