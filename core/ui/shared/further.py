"""Further questions about an argued row, in expanders that load nothing before they are opened."""

from __future__ import annotations

import streamlit as st

from core.actions.workspace import Workspace
from core.store.runs import Run
from core.ui.shared.linked import bind


def show_again(run: Run, pair_id: str, *, workspace: Workspace, hides_label: bool = False) -> None:
    """Show the form that asks a debate again with another dossier, if the debate ran here.

    hides_label: show no link to Rows, which shows the row's label.
    """
    if run.method != "debate" or "options" not in run.spec:
        return
    with st.expander("Ask again with another dossier", on_change="rerun", **bind("again")) as opened:
        if opened.open:
            from core.ui.shared import again_panel

            again_panel.show_again(run, pair_id, workspace=workspace, hides_label=hides_label)
