"""Experiments: what does one change do, and can it be told from asking again?"""

import streamlit as st

from core.features.experiments.page import ledger, results, start
from core.ui import shell, widgets

context = shell.open_page(__file__)
st.markdown("## Experiments")
widgets.show_tabs(
    "tab",
    {
        "Start": lambda: start.show(context),
        "Results": lambda: results.show(context),
        "Ledger": lambda: ledger.show(context),
    },
)
