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

from core.plots import theme
from core.plots.captioned import CaptionedFigure
from core.plots.forest_plot import Forest
from core.ui import figure_menu
from core.ui.linked import bind

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
_MARKS = frozenset(r"\`*_{}[]()<>#+-.!|~$:&")
_BARE = re.compile(r":(?=[\w/])|@|www", re.IGNORECASE)


def as_text(message: object) -> str:
    """Return text from files, models and people, escaped for Markdown, so that it appears
    literally.

    Streamlit looks for bare addresses and :directives: after it has removed the escapes, so an
    invisible joiner breaks them.
    """
    escaped = "".join(f"\\{c}" if c in _MARKS else c for c in str(message))
    return _BARE.sub("\\g<0>\u2060", escaped)


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
    return f"{theme.LABEL_SIGNS[known]} {theme.LABEL_WORDS[known]}"


def percent_text(p: float | None) -> str:
    """Return a probability in whole percent; an en dash if it is None or NaN."""
    return "–" if p is None or p != p else f"{100 * p:.0f}%"


def coloured_text(text: str, colour: str) -> str:
    """Return text as Markdown in a colour of `core.plots.theme`."""
    return f':color[{as_text(text)}]{{foreground="{colour}"}}'


def show_tabs(key: str, parts: Mapping[str, Callable[[], object]]) -> None:
    """Show tabs and draw only the open one; the query parameter `key` names it."""
    for tab, draw in zip(st.tabs(list(parts), **bind(key)), parts.values(), strict=True):
        if tab.open:
            with tab:
                draw()


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
    *,
    sentence: str = "",
) -> None:
    """Show a figure in the visitor's theme with its caption, its table, and downloads of both.

    name: of the figure on its page; title: heading and name of its file; caption: run, number of
    rows, interval. sentence: its message, for a stop of a walk-through.
    """
    show_captioned(CaptionedFigure(title, "", sentence, caption, chart, table), name)


def show_captioned(found: CaptionedFigure, name: str) -> None:
    """Show a figure as `show_figure` does; sentence and caption if there is nothing to draw.

    A forest plot is HTML: no script has to be loaded before it is seen.
    """
    if found.drawn is None:
        st.markdown(as_text(found.sentence))
        st.caption(as_text(found.caption))
        return
    if isinstance(found.drawn, Forest):
        with st.container(key=f"figure-{name}"):
            st.html(found.drawn.html())
    else:
        _show_chart(found.drawn, name)
    below = st.container(horizontal=True, key=f"below-{name}")
    below.caption(as_text(found.caption))
    with below:
        figure_menu.show_notes_button(name, found.title)
        figure_menu.show_figure_keepers(name, found)
    with below.popover("Table", icon=":material/download:"):
        figure_menu.show(name, found)


def _show_chart(chart: go.Figure, name: str) -> None:
    chart.update_layout(
        template=theme.template("dark" if st.context.theme.type == "dark" else "light")
    )
    options: dict[str, Any] = {
        "theme": None,
        "key": f"figure-{name}",
        "config": {"displaylogo": False, "displayModeBar": False},
    }
    waiting = _waiting.get()
    if waiting is None:
        st.plotly_chart(chart, **options)  # not in an emptied container: the page would jump
    else:
        place = st.empty()
        place.skeleton(height=int(chart.layout.height or theme.HEIGHT_PX))
        waiting.append(partial(place.plotly_chart, chart, **options))


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
        column.markdown("  \n".join(part for part in parts if part), help=number.help or None)
    return list(columns)
