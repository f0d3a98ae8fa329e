"""Ablations: choose an ablation, set its options, run it, and read the results."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.actions import ablations
from core.actions.ablations import AblationRun
from core.experiments.ablations.base import Ablation
from core.experiments.ablations.material import find_missing
from core.plots import ablation_scores
from core.store.datasets import Dataset
from core.texts import describe_duration
from core.ui.shared import links, tables
from core.ui.shared.linked import choose_one
from core.ui.shared.option_controls import show_option
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text, show_empty, show_figure

_DONE = "_ablations"  # session key: this visitor's results, by dataset, name, settings and the state of the workspace
_MOST_KEPT = 20
_INTERVALS = "95% intervals allow for shared perturbations and genes"


def show(context: PageContext) -> None:
    """Show the choice of an ablation, its settings, and its outcome after a run."""
    dataset = context.dataset
    if dataset is None:
        show_empty("This workspace has no dataset yet.", lambda: links.to_data("Import one"))
        return
    material = ablations.load_material(context.workspace, dataset.id)
    known = ablations.list_ablations(material)
    titles = {each.name: each.title for each, _ in known}
    name = choose_one(st.selectbox, "ablation", "Ablation", titles, known[0][0].name) or known[0][0].name
    ablation, missing = next((each, lacks) for each, lacks in known if each.name == name)
    st.markdown(as_text(ablation.question))
    if missing:
        show_empty(as_text(f"It needs {'; and '.join(missing)}."), lambda: links.to_data("Import it"))
    if find_missing(ablation.needs, material):  # no setting can add it
        return
    settings = _show_settings(dataset, ablation)
    done: dict[Any, AblationRun] = st.session_state.setdefault(_DONE, {})
    key = (dataset.id, name, tuple(sorted(settings.items())), tuple(run.id for run in context.runs), material.space_names)
    if st.button("Run", type="primary", icon=":material/play_arrow:", key="run-ablation"):
        with explain_errors(), st.spinner(f"{ablation.title} …"):
            done[key] = ablations.run_ablation(context.workspace, name, settings, material=material)
        while len(done) > _MOST_KEPT:
            done.pop(next(iter(done)))
    if key in done:
        _show_outcome(dataset, done[key])


def _show_settings(dataset: Dataset, ablation: Ablation) -> dict[str, object]:
    with st.expander("Settings"):
        return {option.name: show_option(dataset, f"ablation-{ablation.name}", option) for option in ablation.options}


def _describe_baseline(table: pd.DataFrame) -> list[str]:
    """Return the baseline of changes: the arm without a change, if others have one."""
    moved = table["change"].notna().groupby(table["arm"]).any()
    return [f"changes are paired, against {moved.index[~moved][0]}"] if moved.any() and not moved.all() else []


def _show_outcome(dataset: Dataset, found: AblationRun) -> None:
    """Show the sentence, the figure with its table and downloads, remarks, and the details."""
    outcome, table = found.outcome, found.outcome.table
    st.markdown(f"**{as_text(outcome.sentence)}**")
    if len(table):
        n = f"{int(table['n'].max()):,} labelled rows"
        caption = " · ".join((dataset.name, f"{n}, scored {table['scored'].iloc[0]}", _INTERVALS, *_describe_baseline(table)))
        show_figure(ablation_scores.figure(table), table, f"ablation-{found.ablation.name}", found.ablation.title, caption)
    for remark in outcome.remarks:
        st.caption(as_text(remark))
    if len(outcome.details):
        tables.show_table(outcome.details, f"details of {found.ablation.name}")
    st.caption(f"Computed in {describe_duration(found.seconds)}.")
