"""Targets: which gene was perturbed?"""

from collections.abc import Callable

import streamlit as st

from core.features.targets.page import (
    ShownRanking,
    choose,
    show_condition,
    show_evaluation,
    show_training,
)
from core.runs.workspace import Workspace
from core.ui import shell, widgets

context = shell.open_page(__file__)
st.markdown("## Targets")
folder, shown = choose(context.workspace)


def show(tab: Callable[[Workspace, ShownRanking], None]) -> None:
    """Show a tab of an evaluated ranking, or its training, which ends with an evaluation."""
    if shown is None:
        show_training(context.workspace, folder)
    else:
        tab(context.workspace, shown)


widgets.show_tabs(
    "tab",
    {
        "Table": lambda: show(show_evaluation),
        "Conditions": lambda: show(show_condition),
        "Training": lambda: show_training(context.workspace, folder),
    },
)
