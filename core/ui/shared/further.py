"""What a row that was argued can be asked further, folded: nothing of it is loaded before it is opened."""

from __future__ import annotations

import streamlit as st

from core.actions.workspace import Workspace
from core.store.runs import Run
from core.ui.shared.linked import bind
from core.ui.shared.widgets import as_text


def show_again(run: Run, pair_id: str, *, workspace: Workspace, hides_label: bool = False) -> None:
    """Show what asks a debate that was made here again, with another dossier; nothing for other runs. hides_label: shows no link
    to Rows, where the row's label stands."""
    if run.method != "debate" or "options" not in run.spec:
        return
    with st.expander("Ask again with another dossier", on_change="rerun", **bind("again")) as opened:
        if opened.open:
            from core.ui.shared import again_panel

            again_panel.show_again(run, pair_id, workspace=workspace, hides_label=hides_label)


def show_judge(run: Run) -> None:
    """Show how sure the judge of a run is, by what asked the same under other seeds."""
    with st.expander(f"How sure is the judge of {as_text(run.name)}?", on_change="rerun", **bind("judge")) as opened:
        if opened.open:
            from core.ui.shared import judge_panel

            judge_panel.show_judge(run)
