"""Ledger: every hypothesis with its verdict, and the scores over time."""

from __future__ import annotations

import streamlit as st

from core.features.experiments import ledger
from core.ui import links
from core.ui.confirmation import confirm
from core.ui.results import show_result
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import show_empty


def show_ledger(context: PageContext) -> None:
    """Show the ledger of the workspace for all datasets, and the import of the published one."""
    result = ledger.list_ledger(context.workspace)
    if result.hypotheses:
        show_result(result, "", "ledger")
    else:
        show_empty("No hypothesis is registered yet.")
    st.caption(
        "An experiment registers what it tests and records its result; `perturbdesk ledger add`"
        " registers a hypothesis about two runs. Lines are only added, never changed or deleted."
    )
    if not context.workspace.settings.read_only and st.button(
        "Import the published ladder", key="import-ladder", icon=":material/stairs:"
    ):
        with explain_errors():
            added = ledger.import_published_ladder(context.workspace)
            words = f"Imported {len(added)} entries, published elsewhere."
            confirm(
                words if added else "Every line is in the ledger already.",
                lambda: links.to_data("Changes", tab="History"),
            )
