"""Plan: how large an experiment has to be."""

from __future__ import annotations

import streamlit as st

from core.experiments.plan_words import plan_sentences
from core.ui.experiments.spec_box import show_spec_box
from core.ui.shared import loaders
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
    for plan in found.arms:
        first, *rest = plan_sentences(found, plan)
        st.markdown(f"**{as_text(first)}**")
        st.text(" ".join(rest))
