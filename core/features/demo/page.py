"""Data, tab Import: the button that makes the demo."""

from __future__ import annotations

import streamlit as st

from core.features.demo import actions
from core.ui import links
from core.ui.confirmation import confirm
from core.ui.loaders.records import all_datasets
from core.ui.shell import PageContext


def show(context: PageContext) -> None:
    """Show the button unless the demo is here."""
    if context.workspace.settings.read_only:
        return
    if any(d.origin == "simulated" for d in all_datasets()):
        return
    if st.button("Make the simulated demo"):
        with st.spinner("Simulating …"):
            runs = actions.make_demo(context.workspace)
        confirm(
            f"Made the simulated demo: {len(runs)} runs.",
            lambda: links.to_rows(runs[0], "Open rows"),
        )
