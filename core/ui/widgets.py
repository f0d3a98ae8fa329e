"""Small elements of several pages: texts, headings, tabs, figures with their table.

Also headline numbers side by side, each with its name above and details below.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.base.workbook import encode
from core.features import hooks
from core.plots import drawing, printed
from core.plots.printed import CaptionedFigure
from core.runs import actions as run_actions
from core.runs.workspace import Workspace
from core.store.datasets import Dataset
from core.store.runs import Run
from core.ui import links
from core.ui.linked import bind
from core.ui.links import confirm
from core.ui.loaders.records import dataset_notes

if TYPE_CHECKING:
    import plotly.graph_objects as go


_PLOTLY_IS_LOADED = "_plotly"  # a session key
# Belongs to one run of the script, not to the session: an interrupted run leaves nothing for the
# next page to draw.
_waiting: ContextVar[list[Callable[[], object]] | None] = ContextVar(
    "figures that are drawn last", default=None
)
_HEAD_START_S = 0.3  # pause after text and numbers, before figures are drawn for the first time
_DRAWN_S = 0.03  # pause after numbers, before slower elements
_MARKS = re.compile(r"[\\`*_{}\[\]()<>#+\-.!|~$:&]")
_BARE = re.compile(r":(?=[\w/])|@|www", re.IGNORECASE)


def as_text(message: object) -> str:
    """Return text from files, models and people, escaped for Markdown, so that it appears
    literally.

    Streamlit looks for bare addresses and :directives: after it has removed the escapes, so an
    invisible joiner breaks them.
    """
    return _BARE.sub("\\g<0>\u2060", _MARKS.sub(r"\\\g<0>", str(message)))


def symbol_text(text: str) -> str:
    """Return a gene symbol in Markdown italics, without the characters that could make a link or a
    directive."""
    safe = re.sub(r"[^\w.+\-() ]", "·", text).replace("_", r"\_").replace("www.", "www·")
    return "*{}*".format(re.sub(r"([().+\-])", r"\\\1", safe))


def pair_text(pert: str, gene: str) -> str:
    """Return perturbation ⟶ target gene, as Markdown."""
    return f"{symbol_text(pert)} ⟶ {symbol_text(gene)}"


def label_text(label: str | None) -> str:
    """Return a label as sign and word; "no label" if it is unknown."""
    known = label or "unknown"
    return f"{drawing.LABEL_SIGNS[known]} {drawing.LABEL_WORDS[known]}"


def percent_text(p: float | None) -> str:
    """Return a probability in whole percent; an en dash if it is None or NaN."""
    return "–" if p is None or p != p else f"{100 * p:.0f}%"


def coloured_text(text: str, colour: str) -> str:
    """Return text as Markdown in a colour of `core.plots.drawing`."""
    return f':color[{as_text(text)}]{{foreground="{colour}"}}'


def show_tabs(key: str, parts: Mapping[str, Callable[[], object]]) -> None:
    """Show tabs and draw only the open one; the query parameter `key` names it."""
    for tab, draw in zip(st.tabs(list(parts), **bind(key)), parts.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def was_opened(place: Any, name: str, parameters: Iterable[str] = ()) -> bool:
    """Return whether a popover or an expander of this name is open or has been: nothing is drawn
    in one that stays closed, and nothing that was typed in one is lost when it is closed again.

    place: made with on_change="rerun". parameters: of the controls in it, which are drawn, too, for
    a link that sets one of them.
    """
    if place.open or not {*parameters}.isdisjoint(st.query_params):
        st.session_state[f"_opened-{name}"] = True
    return f"_opened-{name}" in st.session_state


def show_empty(text: str, action: Callable[[], object] | None = None) -> None:
    """Show that there is nothing to show, and what to do about it."""
    with st.container(border=True):
        st.markdown(text)
        if action is not None:
            action()


def show_figure(
    chart: go.Figure,
    table: pd.DataFrame,
    name: str,
    title: str,
    caption: str,
) -> None:
    """Show a figure in the visitor's theme with its caption, its table, and downloads of both.

    name: of the figure on its page; title: heading and name of its file; caption: run, number of
    rows, interval.
    """
    show_captioned(CaptionedFigure(title, "", "", caption, chart, table), name)


def show_captioned(found: CaptionedFigure, name: str) -> None:
    """Show a figure as `show_figure` does; sentence and caption if there is nothing to draw.

    What is HTML is seen before a script is loaded.
    """
    if found.drawn is None:
        st.markdown(as_text(found.sentence))
        st.caption(as_text(found.caption))
        return
    if isinstance(found.drawn, drawing.PageFigure):
        with st.container(key=f"figure-{name}"):
            st.html(found.drawn.html())
    else:
        found.drawn.update_layout(
            template=drawing.template("dark" if st.context.theme.type == "dark" else "light")
        )
        options: dict[str, Any] = {
            "theme": None,
            "key": f"figure-{name}",
            "config": {"displaylogo": False, "displayModeBar": False},
        }
        waiting = _waiting.get()
        if waiting is None:
            st.plotly_chart(
                found.drawn, **options
            )  # not in an emptied container: the page would jump
        else:
            place = st.empty()
            place.skeleton(height=int(found.drawn.layout.height or drawing.HEIGHT_PX))
            waiting.append(partial(place.plotly_chart, found.drawn, **options))
    below = st.container(horizontal=True, key=f"below-{name}")
    below.caption(as_text(found.caption))
    with below:
        show_notes_button(name, found.title)
        show_figure_keepers(name, found)
    with below.popover("Table", icon=":material/download:"):
        show(name, found)


def flush() -> None:
    """Let the browser draw the elements sent so far: it draws a burst of elements together, and
    late."""
    time.sleep(_DRAWN_S)


@contextmanager
def draw_figures_last() -> Iterator[None]:
    """Draw the figures of the first page in a browser tab after everything else on that page.

    Loading plotly blocks the browser for a second, so numbers and text come first.
    """
    if _PLOTLY_IS_LOADED in st.session_state:
        yield
        return
    waiting: list[Callable[[], object]] = []
    token = _waiting.set(waiting)
    try:
        yield
    finally:
        _waiting.reset(token)
        if waiting:
            time.sleep(_HEAD_START_S)
            for draw in waiting:
                draw()
            st.session_state[_PLOTLY_IS_LOADED] = True


@dataclass(frozen=True, slots=True)
class Number:
    """A number, as text. help: its meaning. below: Markdown with details such as its interval and
    number of rows."""

    name: str
    value: str
    help: str = ""
    below: str = ""


def show_numbers(
    key: str, numbers: Iterable[Number], widths: Sequence[float] | int
) -> list[DeltaGenerator]:
    """Show numbers in the first columns that `widths` define; return all columns.

    They are Markdown, styled by the container's class: a browser shows text at once, but
    Streamlit's own metric only a third of a second later, after loading its script.
    """
    with st.container(key=f"numbers-{key}"):
        columns = st.columns(widths)
    for column, number in zip(columns, numbers, strict=False):
        parts = (as_text(number.name), f"**{as_text(number.value)}**", number.below)
        column.markdown("  \n".join(filter(None, parts)), help=number.help or None)
    return list(columns)


_FORM_WORDS = {"png": f"PNG, {printed.DPI} dpi"}
_ABOUT = "_figures_are_about"  # a session key: fragments run without the page


def begin_page(workspace: Workspace, dataset: Dataset | None, run: Run | None) -> None:
    """Set the subject of the page's figures, for headings, file names and notes."""
    st.session_state[_ABOUT] = (workspace, dataset, run)


def file_name_of(name: str) -> str:
    """Return the name, without extension, of a file with what a page shows under a name: with its
    dataset and run."""
    _, dataset, run = st.session_state.get(_ABOUT, (None, None, None))
    return printed.file_name(dataset.name if dataset else "", run.name if run else "", name)


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
        _show_button("CSV", f"{file}.csv", f"csv-{name}", partial(encode, table, "csv"))
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
