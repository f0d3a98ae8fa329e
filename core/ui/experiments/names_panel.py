"""Memory or reasoning: what the chosen run's score loses without gene names, or why that cannot be known."""

from __future__ import annotations

import shlex

import streamlit as st

from core.experiments.contamination_words import LIMITS, arm_sentence, unknown_lines, verdict_sentence
from core.report.figures.contamination import of_run
from core.store.runs import Run
from core.ui.shared import loaders
from core.ui.shared.widgets import as_text, show_figure

_ABOUT = (
    "The same rows are asked again with every gene name coded, with names swapped, with the row's two genes hidden, and with "
    "names alone. What the score loses says whether it rests on names or on the dossier."
)


def show(run: Run) -> None:
    """Show the experiments on a run that are done; without any, what can be asked, or what cannot be known."""
    st.markdown("**Memory or reasoning?**")
    unknown = unknown_lines(run)
    if unknown is not None:
        st.markdown(as_text(" ".join(unknown)))
        return
    st.caption(_ABOUT)
    found = loaders.contamination_reports(run.id)
    for i, each in enumerate(found):
        st.markdown(f"**{as_text(verdict_sentence(each))}**")
        figure = of_run(each)
        show_figure(figure.chart, figure.table, f"contamination {i}", f"Memory or reasoning of {run.name}", figure.caption)
        st.markdown("\n".join(f"- {as_text(arm_sentence(arm))}" for arm in each.arms))
        st.caption(as_text(LIMITS))
    if not found:
        st.markdown("This run was not asked with other names yet. This command asks; with `--estimate` it says what that costs:")
        st.code(f"perturbdesk contamination {shlex.quote(run.name)} --rows sample=300", language="bash")
