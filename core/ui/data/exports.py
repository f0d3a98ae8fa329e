"""Data, tab Runs: a run's predictions and traces as files that other programs read."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.actions import export
from core.plots.printed import file_name
from core.store.runs import Run
from core.ui.shared.shell import PageContext

_PARTS = {"Predictions": False, "Traces": True}
_FORMS: tuple[export.Format, ...] = ("csv", "parquet", "jsonl")
_WORDS = {"csv": "CSV", "parquet": "Parquet", "jsonl": "JSON lines"}


def show(context: PageContext, run: Run) -> None:
    """Show the buttons that write a run's predictions, one row a pair, and its traces, one row an event."""
    for title, with_traces in _PARTS.items():
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(title, width="content")
            for form in _FORMS:
                file = f"{file_name(run.name, title.lower())}.{form}"
                build = partial(_build, context, run, form, with_traces=with_traces)
                st.download_button(_WORDS[form], build, file, on_click="ignore", type="tertiary", key=f"{title}-{form}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Both, for Inspect AI", width="content")
        build = partial(_build, context, run, "eval", with_traces=True)
        file = f"{file_name(run.name, 'log')}.eval"
        st.download_button("Log", build, file, "application/zip", on_click="ignore", type="tertiary", key="log-eval")


def _build(context: PageContext, run: Run, form: export.RunFormat, *, with_traces: bool) -> bytes:
    return export.export(context.workspace, run.id, form, with_traces=with_traces)[0]
