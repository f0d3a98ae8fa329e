"""Targets: which gene was perturbed?"""

import streamlit as st

from core.ui.shared import shell, widgets
from core.ui.targets import choices, conditions_tab, table_tab, training_tab

context = shell.open_page(__file__)
st.markdown("## Targets")
shown = choices.choose(context.workspace)
widgets.show_tabs(
    "tab",
    {
        "Table": lambda: table_tab.show(context.workspace, shown),
        "Conditions": lambda: conditions_tab.show(context.workspace, shown),
        "Training": lambda: training_tab.show(context.workspace, shown),
        "Published": lambda: table_tab.show_published(shown),
    },
)
