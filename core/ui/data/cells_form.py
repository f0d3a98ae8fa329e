"""The form that makes a dataset of a file of cells, and how far those are that were started."""

from __future__ import annotations

import streamlit as st

from core.actions import cell_jobs
from core.actions.cell_jobs import LabelJob
from core.cells.groups import GroupSettings
from core.cells.labels import Thresholds
from core.cells.sampling import SamplingSettings
from core.cells.screen import LabelSettings
from core.cells.words import description_lines
from core.config import import_folders
from core.fields.record import make, options_of
from core.jobs.state import LIVE_STATES
from core.ui.shared import links, loaders, shell
from core.ui.shared.confirmation import confirm
from core.ui.shared.linked import bind
from core.ui.shared.option_controls import show_settings
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text

_WATCH_S = 2.0  # between two looks at what is under way
_SHOWN_JOBS = 3
_OWNER = "cells_"  # the begin of keys and query parameters
_COLUMNS = ("perturbation", "control", "batch", "guide")
_OF_FILES = ("most_remaining", "in_memory")


def show(context: PageContext) -> None:
    """Show the form: the file, what was found in it, the settings, and the button that starts."""
    address = st.get_option("server.address")
    folders = import_folders(context.workspace.settings, address)
    if not folders:
        st.caption("Off: this app listens beyond the machine that it runs on. Use the command `cells labels` instead.")
        return
    path = st.text_input("File on this machine (.h5ad)", placeholder=str(folders[0] / "screen.h5ad"), **bind("cells_path"))
    st.caption(f"Inside {' or '.join(as_text(folder) for folder in folders)}.")
    with explain_errors():
        settings = _show_settings()
        if not path.strip():
            return
        found = cell_jobs.describe_typed(context.workspace, path, settings, address)
        st.text("\n".join(description_lines(found)))
        name_side, context_side = st.columns(2)
        name = name_side.text_input("Name of the dataset", **bind("cells_name"))
        about = context_side.text_input("What cells these are, for prompts", placeholder="K562 cells", **bind("cells_context"))
        if st.button("Make the dataset", type="primary", disabled=not name.strip(), key="start-cells"):
            cell_jobs.start_labels(context.workspace, path, name.strip(), settings, address, about.strip())
            confirm(f"{name.strip()} is being made in a process of its own.")
            st.rerun()


def _show_settings() -> LabelSettings:
    with st.expander("Columns, thresholds and sampling; the defaults are the challenge's"):
        chosen = show_settings(LabelSettings, _OWNER, _COLUMNS, columns=len(_COLUMNS))
        rest = [[option.name for option in options_of(part)] for part in (Thresholds, GroupSettings, SamplingSettings)]
        for place, names in zip(st.columns(3, gap="medium"), (rest[0], [*rest[1], *_OF_FILES], rest[2]), strict=True):
            with place:
                chosen |= show_settings(LabelSettings, _OWNER, names)
    return make(LabelSettings, chosen)


def show_jobs(context: PageContext) -> None:
    """Show what was started from a page, again and again while one is under way."""
    if not cell_jobs.list_jobs(context.workspace):
        return
    shell.draw_until_ready(lambda: _draw_jobs(context), lambda: not _running(context))


def _running(context: PageContext) -> list[LabelJob]:
    return [job for job in cell_jobs.list_jobs(context.workspace) if job.state in LIVE_STATES]


def _draw_jobs(context: PageContext) -> None:
    ids = {dataset.name: dataset.id for dataset in loaders.all_datasets()}
    for job in cell_jobs.list_jobs(context.workspace)[:_SHOWN_JOBS]:
        words = as_text(f"{job.dataset} of {job.file}")
        if job.state in LIVE_STATES:
            st.info(f"{words}: {as_text(job.last_line or 'starting')}", icon=":material/hourglass_top:")
        elif job.state != "done":
            st.error(f"{words}: {as_text(job.last_line or 'its process ended without a word')}", icon=":material/error:")
            _offer_resume(context, job)
        elif job.dataset in ids and (context.dataset is None or context.dataset.name != job.dataset):
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{words}: made.")
                links.to_dataset(ids[job.dataset], "Open the dataset")


def _offer_resume(context: PageContext, job: LabelJob) -> None:
    if context.workspace.settings.read_only or not job.can_resume:
        return
    if st.button("Start again", key=f"resume-{job.key}"):
        with explain_errors(), st.spinner("Starting …"):
            cell_jobs.resume(context.workspace, job.key)
            confirm(f"{job.dataset} is being made in a process of its own.")
            st.rerun()
