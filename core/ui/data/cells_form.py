"""The form that makes a dataset of a file of cells, and how far those are that were started."""

from __future__ import annotations

import streamlit as st

from core.actions import cells, job_control
from core.actions.cells import KIND
from core.cells.conditions import READING
from core.cells.design import DesignSettings
from core.cells.groups import GroupSettings
from core.cells.labels import Thresholds
from core.cells.sampling import SamplingSettings
from core.cells.screen import LabelSettings
from core.cells.words import description_lines
from core.config import import_folders
from core.fields.record import make, options_of
from core.ui.shared import links
from core.ui.shared.confirmation import confirm
from core.ui.shared.job_panel import watch_job
from core.ui.shared.linked import bind
from core.ui.shared.option_controls import show_settings
from core.ui.shared.shell import PageContext, explain_errors
from core.ui.shared.widgets import as_text

_SHOWN_JOBS = 3
_OWNER = "cells_"  # the begin of keys and query parameters
_COLUMNS = ("perturbation", "control", "batch", "guide", *READING[2:], "within")
_OF_FILES = ("most_remaining", "in_memory")


def show(context: PageContext) -> None:
    """Show the form: the file, what was found in it, the settings, and the button that starts."""
    address = st.get_option("server.address")
    folders = import_folders(context.workspace.settings, address)
    if not folders:
        st.caption("Off: this app listens beyond the machine that it runs on. Use the command `cells labels` instead.")
        return
    path = st.text_input(
        "File on this machine (.h5ad), or folder of a Zarr store",
        placeholder=str(folders[0] / "screen.h5ad"),
        **bind("cells_path"),
    )
    st.caption(f"Inside {' or '.join(as_text(folder) for folder in folders)}.")
    with explain_errors():
        settings = _show_settings()
        if not path.strip():
            return
        found = cells.describe_typed(context.workspace, path, settings, address)
        st.code("\n".join(description_lines(found)), language=None, wrap_lines=True)  # its columns stand below one another
        name_side, context_side = st.columns(2)
        name = name_side.text_input("Name of the dataset", **bind("cells_name"))
        about = context_side.text_input("What cells these are, for prompts", placeholder="K562 cells", **bind("cells_context"))
        if st.button("Make the dataset", type="primary", disabled=not name.strip(), key="start-cells"):
            cells.start_labels(context.workspace, path, name.strip(), settings, address, about.strip())
            confirm(f"{name.strip()} is being made in a process of its own.")
            st.rerun()


def _show_settings() -> LabelSettings:
    with st.expander("Columns, thresholds and sampling; the defaults are the challenge's"):
        chosen = show_settings(LabelSettings, _OWNER, _COLUMNS, columns=4)
        parts = (Thresholds, DesignSettings, GroupSettings, SamplingSettings)
        tests, design, groups, sampling = ([option.name for option in options_of(part)] for part in parts)
        columns = ([*tests, *design], [*groups, *_OF_FILES], sampling)
        for place, names in zip(st.columns(3, gap="medium"), columns, strict=True):
            with place:
                chosen |= show_settings(LabelSettings, _OWNER, names)
    return make(LabelSettings, chosen)


def show_jobs(context: PageContext) -> None:
    """Show what was started last, until it is made and chosen."""
    chosen = "" if context.dataset is None else context.dataset.name
    for job in job_control.list_jobs(context.workspace, [KIND])[:_SHOWN_JOBS]:
        if job.state != "done":
            watch_job(context.workspace, KIND, job.key)
        elif (dataset := job.view.get("dataset")) is not None and job.name != chosen:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"{as_text(job.name)}: made.")
                links.to_dataset(dataset, "Open the dataset")
