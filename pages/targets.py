"""Targets: which gene was perturbed?"""

from collections.abc import Callable

import streamlit as st

from core.features.targets.page import choices, conditions_tab, table_tab, training_tab
from core.runs.workspace import Workspace
from core.ui import shell, widgets

context = shell.open_page(__file__)
st.markdown("## Targets")
folder, shown = choices.choose(context.workspace)


def show(tab: Callable[[Workspace, choices.ShownRanking], None]) -> None:
    """Show a tab of an evaluated ranking, or its training, which ends with an evaluation."""
    if shown is None:
        training_tab.show(context.workspace, folder)
    else:
        tab(context.workspace, shown)


widgets.show_tabs(
    "tab",
    {
        "Table": lambda: show(table_tab.show),
        "Conditions": lambda: show(conditions_tab.show),
        "Training": lambda: training_tab.show(context.workspace, folder),
    },
)
