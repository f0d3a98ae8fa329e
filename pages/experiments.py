"""Experiments: which ideas survived, and which of two ways is better?"""

import streamlit as st

from core.features.experiments.page import ledger
from core.ui.experiments import ablations_tab
from core.ui.shared import shell, widgets

context = shell.open_page(__file__)
st.markdown("## Experiments")
widgets.show_tabs(
    "tab",
    {
        "Ledger": lambda: ledger.show(context),
        "Ablations": lambda: ablations_tab.show(context),
    },
)
