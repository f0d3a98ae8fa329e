"""Results: every experiment of the dataset, its progress while it runs, and its result."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.features.experiments import engine, ledger_table
from core.features.experiments.registry import kinds
from core.features.experiments.result import ExperimentResult
from core.runs.workspace import Workspace
from core.ui import links, tables
from core.ui.job_panel import watch_job
from core.ui.linked import choose_one
from core.ui.loaders.cache import cache_by, from_store
from core.ui.loaders.records import all_presets, all_runs
from core.ui.results import show_result
from core.ui.server_workspace import read_workspace
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import as_text, show_empty


def show_results(context: PageContext) -> None:
    """Show the experiments of the dataset, and one of them."""
    dataset = context.dataset
    here = [
        saved
        for saved in engine.list_saved(context.workspace)
        if dataset and saved.dataset == dataset.id
    ]
    if not here:
        how = lambda: links.to_page(links.EXPERIMENTS, "Start one", tab="Start")  # noqa: E731
        show_empty(
            "No experiment of this dataset yet. A question, a run and a few rows are enough.", how
        )
        return
    states = {run.id: run.status for run in all_runs()}
    by_key = {saved.key: saved for saved in here}
    rows = [
        {
            "experiment": saved.name,
            "kind": kinds()[saved.kind].title if saved.kind in kinds() else saved.kind,
            "rows": len(saved.rows),
            "runs done": f"{len(saved.ids) - saved.count_left(states)} of {len(saved.ids)}",
        }
        for saved in by_key.values()
    ]
    tables.show_table(pd.DataFrame(rows), "experiments")
    titles = {key: saved.name for key, saved in by_key.items()}
    latest = here[-1].key
    saved = by_key[choose_one(st.selectbox, "experiment", "Experiment", titles, latest) or latest]
    if left := saved.count_left(states):
        st.markdown(
            f"{left} of {len(saved.ids)} runs are missing; the result stands here when they are"
            " done."
        )
        watch_job(context.workspace, engine.JOB, saved.key)
        return
    with explain_errors():
        with st.spinner("Comparing …"):
            result = _result_of(saved.key)
        st.markdown(f"### {as_text(result.question)}")
        show_result(result, saved.name, "experiment")


@cache_by("runs", "datasets", "presets", entries=8, shared=True)
def _result_of(key: str) -> ExperimentResult:
    workspace = read_workspace()
    return engine.result_of(workspace, engine.find_saved(workspace, key))


_entries = cache_by("ledger")(from_store(ledger_table.list_all))


def has_experiments(workspace: Workspace) -> bool:
    """Return whether there is an experiment, or an entry of the ledger."""
    del workspace  # all visitors see the same
    return bool(_entries() or all_presets(engine.PAGE))
