"""Data, tab Runs and notes: files of a run for other people."""

from __future__ import annotations

from functools import partial

import streamlit as st

from core.features.importing import bundle_actions, export
from core.features.sharing import walk_actions
from core.features.sharing.page.stop_buttons import links_of_stops
from core.features.sharing.site import actions as site
from core.plots.printed import file_name
from core.store.runs import Run
from core.ui.loaders.records import all_walks
from core.ui.shell import PageContext, explain_errors
from core.ui.widgets import as_text

_FORMS: tuple[export.RunFormat, ...] = ("csv", "parquet", "jsonl")
_LOG: tuple[export.RunFormat, ...] = ("eval",)
# Title, end of the names of the files, and their formats.
_FILES = (
    ("Predictions", "predictions", _FORMS),
    ("Traces", "traces", _FORMS),
    ("Both, for Inspect AI", "log", _LOG),
)
_WORDS = {"csv": "CSV", "parquet": "Parquet", "jsonl": "JSON lines", "eval": "Log"}


def show(context: PageContext, run: Run) -> None:
    """Show the exports of a run: a bundle, its rows as tables, and a site to read."""
    with st.container(horizontal=True):
        with st.popover("Send to a colleague", icon=":material/ios_share:", width="content"):
            _show_bundle(context, run)
        with st.popover("Rows as a table", icon=":material/download:", width="content"):
            _show_tables(context, run)
        with st.popover("For a colleague without the app", icon=":material/web:", width="content"):
            _show_site(context, run)


def _show_tables(context: PageContext, run: Run) -> None:
    """Show the buttons that write a run's predictions, one row per pair, and its traces, one row
    per event."""
    for title, stem, forms in _FILES:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(title, width="content")
            for form in forms:
                build = partial(_build, context, run, form, with_traces=stem != "predictions")
                file = f"{file_name(run.name, stem)}.{form}"
                st.download_button(
                    _WORDS[form],
                    build,
                    file,
                    on_click="ignore",
                    type="tertiary",
                    key=f"{stem}-{form}",
                )


def _build(context: PageContext, run: Run, form: export.RunFormat, *, with_traces: bool) -> bytes:
    return export.export(context.workspace, run.id, form, with_traces=with_traces)[0]


def _show_bundle(context: PageContext, run: Run) -> None:
    """Show a button that packs the run and its parts into one file, and then the download."""
    st.markdown(
        "One file with the run's rows, traces, evidence, calls and notes. A colleague who has the"
        " dataset imports it here."
    )
    st.caption("It contains no labels except those that its evidence and prompts quote.")
    if not st.button("Make the file", key=f"bundle-{run.id}"):
        return
    with explain_errors():
        with st.spinner("Packing …"):
            bundle = bundle_actions.build_bundle(context.workspace, run.id)
        for problem in bundle.problems:
            st.caption(f":orange[⚠] {as_text(problem.message)}")
        content = bundle.content
        st.download_button(
            "Download the file",
            content,
            bundle.file_name,
            "application/zip",
            type="primary",
            on_click="ignore",
        )
        st.caption(f"{len(content):,} bytes, SHA-256 {bundle.sha256}")


def _show_site(context: PageContext, run: Run) -> None:
    """Show a button that makes the run's site as one zip, and then its download."""
    st.markdown(
        "A folder of plain files. Any browser shows every debate, with filters and search, without"
        " the app."
    )
    st.caption("It contains the labels, the dossiers and all texts of the run, but no notes.")
    names = [
        name for home, name, _ in all_walks() if home == run.dataset and name != walk_actions.REPORT
    ]
    chosen = (
        st.multiselect("Walk-throughs in it", names, key=f"note-site-{run.id}", placeholder="none")
        if names
        else []
    )
    if not st.button("Make the site", key=f"site-{run.id}"):
        return
    with explain_errors():
        with st.spinner("Packing …"):
            made, content = site.zip_site(context.workspace, run.id, chosen, links_of_stops())
        st.download_button(
            "Download the site",
            content,
            f"{made.name}.zip",
            "application/zip",
            type="primary",
            on_click="ignore",
        )
        st.caption(f"{made.rows:,} rows, {len(content):,} bytes")
