"""Launch, tab Fine-tune: the fine-tunes of this workspace, how far the chosen one is, and a form that starts one."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from core.actions import finetunes
from core.actions.finetunes import FinetuneRequest
from core.actions.workspace import Workspace
from core.fields.record import make
from core.finetune.job_folder import FinetuneFolder
from core.finetune.settings import BASE, OPTIONS
from core.finetune.spec import FinetuneSpec, short_name
from core.finetune.status import FinetuneStatus, status_of
from core.plots import training_loss
from core.store.datasets import Dataset
from core.ui.shared import shell
from core.ui.shared.confirmation import confirm
from core.ui.shared.linked import choose_one
from core.ui.shared.option_controls import show_option, show_settings
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text, describe_duration, show_empty, show_figure

WATCH_S = 2.0  # between two refreshes
LOG_LINES = 12
STATES = {
    "waiting": "waiting to start",
    "loading": "loading the model",
    "training": "training",
    "merging": "merging the adapter into the model",
    "done": "done",
    **{state: f"{state}; can be resumed" for state in ("stopped", "failed", "interrupted", "crashed")},
}


def show(context: PageContext, dataset: Dataset) -> None:
    """Show the fine-tunes of this workspace, and the form that starts one."""
    there = bool(finetunes.list_all(context.workspace))
    if there:
        shell.fragment(lambda: _show_fine_tunes(context.workspace), every_s=WATCH_S)()
    else:
        show_empty(
            "No model was fine-tuned here. Track C allows an open model below 10B, trained on the labelled rows: prompts as "
            "`local_model` sends them, and the letter of the outcome as the answer."
        )
    if not context.workspace.settings.read_only:
        with st.expander("Start a fine-tune", expanded=not there):
            _show_form(context.workspace, dataset)


def _show_fine_tunes(workspace: Workspace) -> None:
    known = {folder.key: folder for folder in finetunes.list_all(workspace)}
    names = {key: f"{folder.spec().name} ({key})" for key, folder in known.items()}
    chosen = choose_one(st.selectbox, "finetune", "Fine-tune", names, next(iter(names))) or next(iter(names))
    _show_one(workspace, known[chosen])


def _show_one(workspace: Workspace, folder: FinetuneFolder) -> None:
    spec, status = folder.spec(), status_of(folder)
    share = status.step / status.steps if status.steps else 0.0
    st.progress(1.0 if status.state == "done" else min(share, 1.0), as_text(describe(status)))
    st.caption(
        f"{spec.train:,} rows train · {spec.validation:,} validate and share no perturbation or gene with them · "
        f"{spec.left_out:,} share one with either and are left out"
    )
    if not workspace.settings.read_only:
        _show_controls(workspace, folder, spec, status)
    if status.state == "done":
        st.markdown("Serve it, then start a run of `local_model` with it on the tab Runs:")
        st.code(f"perturbdesk serve {status.path}", language=None, wrap_lines=True)
    table = training_loss.table(folder.losses())
    if len(table):
        caption = f"{spec.name} · step {table['step'].max():,} · training: the rows of each step, without an interval · "
        caption += "validation: all of its rows, after each epoch"
        show_figure(training_loss.figure(table), table, "training-loss", "Loss of the fine-tune", caption)
    with st.expander("Log", expanded=status.state in ("failed", "crashed")):
        st.text("\n".join(finetunes.log_tail(folder, LOG_LINES)) or "nothing yet")


def describe(status: FinetuneStatus) -> str:
    """How far a fine-tune is, in one line."""
    words = STATES[status.state] + (f": {status.cause}" if status.cause else "")
    if status.steps is None or status.all_rows is None:
        return words
    parts = [words, f"step {status.step:,} of {status.steps:,}", f"{status.rows:,} of {status.all_rows:,} rows"]
    if status.loss is not None:
        parts.append(f"loss {status.loss:.3f}")
    if status.left_s is not None:
        parts.append(f"{describe_duration(status.left_s)} left")
    return " · ".join(parts)


def _show_controls(workspace: Workspace, folder: FinetuneFolder, spec: FinetuneSpec, status: FinetuneStatus) -> None:
    actions: dict[str, tuple[bool, Callable[[], object], str]] = {
        "Stop": (
            status.is_live and status.state != "merging",
            lambda: finetunes.stop(workspace, folder.key),
            f"{spec.name} stops after its step, with a checkpoint.",
        ),
        "Resume": (
            not status.is_live and status.state != "done",
            lambda: finetunes.resume(workspace, folder.key),
            f"Resumed {spec.name}.",
        ),
    }
    for name, (possible, act, done) in actions.items():
        if possible and st.button(name, key=f"{name}-{folder.key}"):
            with explain_errors():
                act()
                confirm(done)
                st.rerun()


def _show_form(workspace: Workspace, dataset: Dataset) -> None:
    chosen = show_settings(FinetuneRequest, "finetune_", defaults={"base": BASE})
    with st.expander(f"{len(OPTIONS)} settings; the defaults are set"):
        options = {option.name: show_option(dataset, "finetune", option) for option in OPTIONS}
    if st.button("Start fine-tune", type="primary", icon=":material/play_arrow:", key="start-finetune"):
        with explain_errors(), st.spinner("Starting …"):
            finetunes.start(workspace, make(FinetuneRequest, {**chosen, "dataset": dataset.id, "options": options}))
            confirm(f"Fine-tuning {short_name(str(chosen['base']))} on {dataset.name} in a process of its own.")
            st.rerun()
