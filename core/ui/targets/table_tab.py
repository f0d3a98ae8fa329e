"""Targets, tab Table: every model on the same rows, beside a random ranking and the ceiling of models of trained genes."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.actions import target_ranking
from core.actions.workspace import Workspace
from core.fields.record import make
from core.plots import curves
from core.target_ranking.ceilings import ceilings_of
from core.target_ranking.evaluate import EvaluationRequest
from core.target_ranking.metrics import MRR
from core.target_ranking.tables import (
    METRICS,
    NOT_COMPARABLE,
    REFERENCES,
    SOURCE,
    ceilings_text,
    evaluation_text,
    evaluation_title,
    metric_text,
    strata_table,
    wide_published_table,
    wide_table,
)
from core.ui.shared import tables
from core.ui.shared.confirmation import confirm
from core.ui.shared.option_controls import show_more, show_settings
from core.ui.shared.shell import explain_errors
from core.ui.shared.widgets import as_text, show_figure
from core.ui.targets.choices import ShownRanking

SHOWN_K = 10  # of the table by stratum


def show(workspace: Workspace, shown: ShownRanking) -> None:
    """Show the table of an evaluation."""
    caption = evaluation_text(shown.saved, shown.split.name)
    if shown.metric != MRR:
        _show_figure(shown, caption)
    tables.show_table(wide_table(shown.saved.table, shown.metric), f"targets-{shown.metric}")
    st.caption(as_text(caption))
    st.markdown(as_text(ceilings_text(ceilings_of(shown.split))))
    k = None if shown.metric == MRR else SHOWN_K
    st.markdown(f"#### {metric_text(shown.metric, k)} by trained targets")
    tables.show_table(strata_table(shown.saved.table, shown.metric, k), "targets-strata")
    if not workspace.settings.read_only:
        with st.expander("Evaluate with another mask or unit"):
            _show_form(workspace, shown)
    with st.expander("Published values"):
        _show_published(shown.metric)


def _show_figure(shown: ShownRanking, caption: str) -> None:
    table, name = curves_by_k(shown.saved.table, shown.metric), METRICS[shown.metric]
    x_title = "k, number of genes at the top of a ranking"
    chart = curves.figure(table, x_title, f"{name} in the first k", [*REFERENCES.values()])
    show_figure(chart, table, f"targets-by-k-{shown.metric}", f"{name} by k", f"{shown.folder.name} · {caption}")


def curves_by_k(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return curve, x (k as text), y, low, high: of each model, the best at SHOWN_K first, then of each reference.

    table: as in `Evaluation`. metric: one of AT_K.
    """
    rows = table[(table["metric"] == metric) & (table["stratum"] == "all")]
    best = rows[rows["k"] == SHOWN_K].set_index("model")["estimate"]
    rows = rows.assign(x=rows["k"].map("{:.0f}".format), curve=rows["model"], y=rows["estimate"], best=rows["model"].map(best))
    rows = rows.sort_values("best", ascending=False, kind="stable")
    first = rows.drop_duplicates("k").assign(low=float("nan"), high=float("nan"))
    references = [first.assign(curve=words, y=first[column]) for column, words in REFERENCES.items()]
    return pd.concat([rows, *references], ignore_index=True)[["curve", "x", "y", "low", "high"]]


def _show_form(workspace: Workspace, shown: ShownRanking) -> None:
    """Show the form that starts an evaluation."""
    chosen = show_settings(EvaluationRequest, "", ["unit", "mask"], columns=2)
    chosen |= show_more(EvaluationRequest, "", chosen)
    st.caption("The cells are read again from their file.")
    if st.button("Evaluate", key="evaluate-targets"):
        with explain_errors(), st.spinner("Ranking the genes …"):
            saved = target_ranking.evaluate_saved(workspace, shown.folder.name, make(EvaluationRequest, chosen))
            confirm(f"{shown.folder.name}: evaluated on {evaluation_title(saved)}.")
            st.query_params["evaluation"] = saved.key
            st.rerun()


def _show_published(metric: str) -> None:
    tables.show_table(wide_published_table(metric), "targets-published")
    st.caption(as_text(f"{METRICS[metric]}, from {SOURCE}. No intervals were published."))
    for sentence in NOT_COMPARABLE:
        st.markdown(f"- {as_text(sentence)}")
