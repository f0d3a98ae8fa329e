"""Targets, tab Table: every model on the same rows, beside a random ranking and the ceiling of
models of trained genes."""

from __future__ import annotations

import streamlit as st

from core.base.fields.record import make
from core.features.targets import actions as target_ranking
from core.features.targets.evaluate import EvaluationRequest
from core.features.targets.page.choices import ShownRanking
from core.features.targets.tables import evaluation_title, table_of
from core.runs.workspace import Workspace
from core.ui.confirmation import confirm
from core.ui.option_controls import show_more, show_settings
from core.ui.results import show_result
from core.ui.shell import explain_errors


def show(workspace: Workspace, shown: ShownRanking) -> None:
    """Show the table of an evaluation."""
    show_result(
        table_of(shown.folder, shown.saved, shown.metric),
        shown.folder.name,
        f"targets-{shown.metric}",
    )
    if not workspace.settings.read_only:
        with st.expander("Evaluate with another mask or unit"):
            chosen = show_settings(EvaluationRequest, "", ["unit", "mask"], columns=2)
            chosen |= show_more(EvaluationRequest, "", chosen)
            st.caption("The cells are read again from their file.")
            if st.button("Evaluate", key="evaluate-targets"):
                with explain_errors(), st.spinner("Ranking the genes …"):
                    saved = target_ranking.evaluate_saved(
                        workspace, shown.folder.name, make(EvaluationRequest, chosen)
                    )
                    st.query_params["evaluation"] = saved.key
                    confirm(
                        f"{shown.folder.name}: evaluated on {evaluation_title(saved.settings)}."
                    )
