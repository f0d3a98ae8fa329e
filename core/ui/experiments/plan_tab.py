"""Plan: how large an experiment has to be, and the sources of variance in an earlier one."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.experiments.plan_words import needs_table, plan_sentences
from core.experiments.planning import ArmPlan
from core.ui.experiments.spec_box import show_spec_box
from core.ui.shared import loaders, tables
from core.ui.shared.linked import choose_one
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text, show_empty

OWN = ""  # value of the choice: a specification written here


def show(context: PageContext) -> None:
    """Show the plan of a benchmark that was started here, or of a specification."""
    if context.dataset is None:
        show_empty("There is no dataset to plan an experiment on.")
        return
    saved = {each.spec.name: each.spec for each in loaders.saved_benchmarks() if each.dataset == context.dataset.id}
    titles = {**{name: name for name in saved}, OWN: "a specification …"}
    chosen = choose_one(st.selectbox, "plan", "Plan of", titles, next(iter(titles)))
    if chosen:
        text = saved[chosen].text
    else:
        st.caption("Before a benchmark starts, see how small a change its rows can show and how many more it needs.")
        text = show_spec_box("plan")
        if not st.button("Plan", type="primary", disabled=not text.strip()):
            return
    with explain_errors():
        _show_plan(text)


def _show_plan(text: str) -> None:
    with st.spinner("Reading the runs …"):
        found = loaders.benchmark_plan(text)
    for i, plan in enumerate(found.arms, 1):
        first, *rest = plan_sentences(found, plan)
        st.markdown(f"**{as_text(first)}**")
        st.text(" ".join(rest))
        left, right = st.columns([0.6, 0.4], gap="medium")
        with left:
            _show_needs(plan, f"needs {i}")
        with right:
            _show_components(plan, f"variance {i}")


def _show_needs(plan: ArmPlan, name: str) -> None:
    number = st.column_config.NumberColumn
    tables.show_table(
        pd.DataFrame(needs_table(plan)),
        name,
        {
            "here": number(format="localized"),
            "standard error": number(format="%.4f", help="Of the change, on the rows used for the variances."),
            "needed": number(
                format="localized", help="How many are needed for the smallest effect if only they were independent."
            ),
        },
    )


def _show_components(plan: ArmPlan, name: str) -> None:
    shares = plan.components.shares
    table = pd.DataFrame(
        [{"source": source, "variance": getattr(plan.components, source), "share": share} for source, share in shares.items()]
    )
    number = st.column_config.NumberColumn
    tables.show_table(
        table,
        name,
        {
            "variance": number(format="%.2e", help="Of the change; for cut and seed, of a single one."),
            "share": number(format="percent", help="Share of the variance of the earlier experiment."),
        },
    )
