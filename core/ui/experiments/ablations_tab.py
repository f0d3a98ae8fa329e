"""Ablations: choose a computed experiment, set its options, run it, and read the result."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.base.result import Result
from core.features.experiments.registry import kinds
from core.fields.record import make, options_of
from core.ui.shared import links
from core.ui.shared.linked import choose_one
from core.ui.shared.option_controls import show_option
from core.ui.shared.results import show_result
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text, show_empty

_DONE = "_ablations"  # session key: this visitor's results, by dataset, name, settings and the state of the workspace
_MOST_KEPT = 20


def show(context: PageContext) -> None:
    """Show the choice of an experiment, its settings, and its result after a run."""
    dataset = context.dataset
    if dataset is None:
        show_empty("This workspace has no dataset yet.", lambda: links.to_data("Import one"))
        return
    computed = {kind.name: kind for kind in kinds().values() if kind.compute is not None}
    titles = {name: kind.title for name, kind in computed.items()}
    kind = computed[choose_one(st.selectbox, "ablation", "Ablation", titles, next(iter(titles))) or next(iter(titles))]
    st.markdown(as_text(kind.question))
    if missing := kind.missing(context.workspace, dataset.id):
        show_empty(as_text(f"It needs {'; and '.join(missing)}."), lambda: links.to_data("Import it"))
        return
    with st.expander("Settings"):
        options = [option for option in options_of(kind.settings) if not option.not_on_form]
        chosen = {option.name: show_option(dataset, f"ablation-{kind.name}", option) for option in options}
    done: dict[Any, Result] = st.session_state.setdefault(_DONE, {})
    key = (dataset.id, kind.name, tuple(sorted(chosen.items())), tuple(run.id for run in context.runs))
    if st.button("Run", type="primary", icon=":material/play_arrow:", key="run-ablation") and kind.compute is not None:
        with explain_errors(), st.spinner(f"{kind.title} …"):
            done[key] = kind.compute(context.workspace, make(kind.settings, {**chosen, "dataset": dataset.id}))
        while len(done) > _MOST_KEPT:
            done.pop(next(iter(done)))
    if key in done:
        show_result(done[key], dataset.name, f"ablation-{kind.name}")
