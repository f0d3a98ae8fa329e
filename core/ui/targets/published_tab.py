"""Targets, tab Published: the published table beside ours, and what of it is not comparable."""

from __future__ import annotations

import streamlit as st

from core.target_ranking.tables import METRICS, NOT_COMPARABLE, SOURCE, differences, evaluation_text, published_wide, wide_table
from core.ui.shared import tables
from core.ui.shared.widgets import as_text
from core.ui.targets.choices import ShownRanking


def show(shown: ShownRanking | None) -> None:
    """Show the published table of a metric, and below it ours."""
    metric = "recall" if shown is None else shown.metric
    st.markdown(f"#### Published {METRICS[metric]}")
    tables.show_table(published_wide(metric), "targets-published")
    st.caption(as_text(f"From {SOURCE}. No intervals were published."))
    if shown is not None and shown.saved is not None and shown.split is not None:
        st.markdown(f"#### Ours: {as_text(shown.folder.name)}")
        tables.show_table(wide_table(shown.saved.table, metric), "targets-ours")
        st.caption(as_text(evaluation_text(shown.saved)))
        sentences = differences(shown.saved.facts, shown.split.kind)
    else:
        sentences = list(NOT_COMPARABLE)
    st.markdown("#### What is not comparable")
    for sentence in sentences:
        st.markdown(f"- {as_text(sentence)}")
