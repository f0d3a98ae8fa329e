"""The menu below a figure: its table, downloads of both, and notes on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pandas as pd
import streamlit as st

from core.base.workbook import encode, encode_for_spreadsheets
from core.features import hooks
from core.plots import printed
from core.plots.captioned import CaptionedFigure
from core.runs import actions as run_actions
from core.runs.workspace import Workspace
from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui import links
from core.ui.confirmation import confirm
from core.ui.loaders.records import dataset_notes

_FORM_WORDS = {"png": f"PNG, {printed.DPI} dpi"}
_ABOUT = "_figures_are_about"  # a session key: fragments run without the page


def begin_page(workspace: Workspace, dataset: Dataset | None, run: Run | None) -> None:
    """Set the subject of the page's figures, for headings, file names and notes."""
    st.session_state[_ABOUT] = (workspace, dataset, run)


def file_name_of(name: str) -> str:
    """Return the name, without extension, of a file with what a page shows under a name: with its
    dataset and run."""
    _, dataset, run = st.session_state.get(_ABOUT, (None, None, None))
    return printed.file_name(*(each.name for each in (dataset, run) if each is not None), name)


def _about() -> tuple[Workspace, Dataset | None, Run | None]:
    about: tuple[Workspace, Dataset | None, Run | None] = st.session_state[_ABOUT]
    return about


def show(name: str, figure: CaptionedFigure) -> None:
    """Show a figure's table, and the buttons that download both; name: of the figure on its
    page."""
    _, found, _ = _about()
    dataset = found.name if found else ""
    parts = figure.caption.split(" · ")
    heading = figure.caption if dataset in parts else f"{dataset} · {figure.caption}"
    st.dataframe(figure.table, hide_index=True)
    file = printed.file_name(
        dataset, *(part for part in parts[:1] if part != dataset), figure.title
    )
    show_table_buttons(figure.table, name, file)
    reason = printed.why_no_images()  # without a browser for images, there is only HTML
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Figure", width="content")
        for form in printed.FORMS:
            if form == "html" or not reason:
                build = partial(_encode, figure, form, heading)
                _show_button(
                    _FORM_WORDS.get(form, form.upper()), f"{file}.{form}", f"{form}-{name}", build
                )
    if reason:
        st.caption(f"{reason}.")


def _encode(figure: CaptionedFigure, form: printed.Form, heading: str) -> bytes:
    return printed.encode(figure.chart, form, figure.title, heading)


def show_table_buttons(table: pd.DataFrame, name: str, file: str) -> None:
    """Show buttons that download a table; file: their names without extension."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown("Table", width="content")
        _show_button("CSV", f"{file}.csv", f"csv-{name}", partial(encode_for_spreadsheets, table))
        show_parquet_button(table, name, file)


def show_parquet_button(table: pd.DataFrame, name: str, file: str) -> None:
    """Show a button that downloads a table as Parquet; file: its name without extension."""
    _show_button("Parquet", f"{file}.parquet", f"parquet-{name}", partial(encode, table, "parquet"))


def _show_button(label: str, file: str, key: str, build: Callable[[], bytes]) -> None:
    """Show a button whose file is built when it is pressed, without rerunning the page."""
    st.download_button(label, build, file, key=key, on_click="ignore", type="tertiary")


def show_notes_button(name: str, title: str) -> None:
    """Show a button with the number of a run's notes on a figure; it opens them and a form for a
    new one."""
    workspace, dataset, run = _about()
    if dataset is None or run is None:
        return
    notes = dataset_notes(dataset.id)
    own = notes[(notes["run_id"] == run.id) & (notes["figure"] == title)]
    if own.empty and workspace.settings.read_only:
        return
    label = str(len(own)) if len(own) else ""
    if st.button(
        label,
        icon=":material/edit_note:",
        help="Notes on this figure",
        key=f"note-{name}",
        type="tertiary",
    ):
        _open_notes(workspace, run, title, own)


@dataclass(frozen=True, slots=True)
class View:
    """What is on screen, to be kept. dataset, run: ids. title: of the view. address: relative to
    any page's ("./rows?run=…"). sentence: a remark. pair_id: of a row. figure: with its chart."""

    dataset: str
    title: str
    address: str
    sentence: str = ""
    run: str | None = None
    pair_id: str | None = None
    figure: CaptionedFigure | None = None


def show_keepers(workspace: Workspace, make: Callable[[], View], key: str) -> None:
    """Show the buttons that keep what is on screen. key: of the element beside them, on its
    page."""
    for show_buttons in hooks("keepers"):
        show_buttons(workspace, make, key)


def show_figure_keepers(name: str, found: CaptionedFigure) -> None:
    """Show the buttons that keep a figure. name: of the figure on its page."""
    workspace, dataset, run = _about()
    if dataset is None:
        return

    def make() -> View:
        return View(
            dataset.id,
            found.title,
            links.address_of_view(),
            found.sentence,
            run=run.id if run is not None else None,
            figure=found,
        )

    show_keepers(workspace, make, name)


@st.dialog("Notes on this figure")
def _open_notes(workspace: Workspace, run: Run, title: str, notes: pd.DataFrame) -> None:
    for note in notes.iloc[::-1].itertuples():
        st.text(f"{note.author}, {note.written_at:%Y-%m-%d %H:%M}\n{note.text}")
    if workspace.settings.read_only:
        return
    with st.form("figure-note", border=False):
        text = st.text_area(
            "Add a note",
            key="note_figure",
            help=f"Signed {workspace.settings.author}. Data lists all notes.",
        )
        is_sent = st.form_submit_button("Save note", type="primary")
    if is_sent and text.strip():
        run_actions.add_figure_note(workspace, run.id, title, links.address_of_view(), text)
        confirm(
            "Note on the figure saved.", lambda: links.to_data("All notes", tab="Runs and notes")
        )
