"""Run, tab Fine-tune: the fine-tunes of this workspace, the progress of the chosen one, and a form
that starts one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from core.base.fields.record import make, options_of
from core.features.finetune import actions as finetunes
from core.features.finetune.actions import FinetuneRequest
from core.features.finetune.job_folder import (
    BASE,
    FinetuneFolder,
    FinetuneSettings,
    describe_rows,
    short_name,
)
from core.features.finetune.jobs import KIND
from core.plots import drawing
from core.runs.workspace import Workspace
from core.store.datasets import Dataset
from core.ui.confirmation import confirm
from core.ui.job_panel import watch_job
from core.ui.linked import choose_one
from core.ui.option_controls import show_option, show_settings
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import show_empty, show_figure

LOSSES: Final = {"loss": "training", "validation_loss": "validation"}


def show(context: PageContext) -> None:
    """Show the fine-tunes of this workspace, and the form that starts one."""
    known = {folder.key: folder for folder in finetunes.list_all(context.workspace)}
    if known:
        names = {key: f"{folder.spec().name} ({key})" for key, folder in known.items()}
        chosen = choose_one(
            st.selectbox, "finetune", "Fine-tune", names, next(iter(names))
        ) or next(iter(names))
        watch_job(context.workspace, KIND.name, chosen, lambda: _show_details(known[chosen]))
    else:
        show_empty(
            "No model was fine-tuned here. Track C allows an open model below 10B, trained on the"
            " labelled rows. It sees prompts as `local_model` sends them, and learns to answer with"
            " the letter of the outcome."
        )
    if context.dataset is not None and not context.read_only:
        with st.expander("Start a fine-tune", expanded=not known):
            _show_form(context.workspace, context.dataset)


def _show_details(folder: FinetuneFolder) -> None:
    spec = folder.spec()
    st.caption(describe_rows(spec))
    if folder.status().state == "done":
        st.markdown("Serve it, then start a run of `local_model` with it on the tab Runs:")
        st.code(f"perturbdesk serve {spec.out}", language=None, wrap_lines=True)
    table = loss_curves(folder.losses())
    if len(table):
        caption = (
            f"{spec.name} · step {table['x'].max():,} · training: the rows of each step, without an"
            " interval · "
        )
        caption += "validation: all of its rows, after each epoch"
        chart = drawing.figure(table, "step", "loss, nats per answer token")
        show_figure(chart, table, "training-loss", "Loss of the fine-tune", caption)


def loss_curves(losses: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return curve (training or validation), x (the step) and y of each loss of a fine-tune."""
    table = pd.DataFrame(losses, columns=["step", *LOSSES]).rename(columns={"step": "x", **LOSSES})
    return table.melt("x", list(LOSSES.values()), "curve", "y").dropna(subset="y")


def _show_form(workspace: Workspace, dataset: Dataset) -> None:
    chosen = show_settings(FinetuneRequest, "finetune_", defaults={"base": BASE})
    settings = options_of(FinetuneSettings)
    with st.expander(f"{len(settings)} settings, with defaults"):
        options = {option.name: show_option(dataset, "finetune", option) for option in settings}
    if st.button(
        "Start fine-tune", type="primary", icon=":material/play_arrow:", key="start-finetune"
    ):
        with explain_errors(), st.spinner("Starting …"):
            finetunes.start(
                workspace,
                make(FinetuneRequest, {**chosen, "dataset": dataset.id, "options": options}),
            )
            confirm(
                f"Fine-tuning {short_name(str(chosen['base']))} on {dataset.name} in a separate"
                " process."
            )
