"""Small things that several pages show."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from core.actions.export import encode
from core.plots import theme

_PLOTLY_IS_LOADED, _WAITING = "_plotly", "_waiting"  # session keys
_HEAD_START_S = 0.3
FLAG_NAMES = {
    "role_collapse": "collapsed role",
    "de_fallback": "DE fallback",
    "dir_fallback": "DIR fallback",
    "uniform_fallback": "no answer (.333/.333)",
    "trace_differs": "changed after its trace",
    "uncovered": "no neighbour",
    "uncovered_dir": "no neighbour with a direction",
    "partly_covered": "a component is silent",
}
FLAG_HELP = {
    "role_collapse": "A brief does not argue for its side: it opens with an option, say, or concludes for the other.",
    "de_fallback": "The judge of EFFECT against NULL could not be read; a base rate or a constant stands in for P(DE).",
    "dir_fallback": "The judge of UP against DOWN could not be read; a base rate or a constant stands in for P(up | DE).",
    "uniform_fallback": "Both predictions are .333: nothing was predicted.",
    "trace_differs": "The submitted numbers are not those of the trace: the file was changed after the debate, by a fusion say.",
    "uncovered": "No labelled row is similar: .5 stands in for both probabilities.",
    "uncovered_dir": "No similar labelled row has a direction: .5 stands in for P(up | DE).",
    "partly_covered": "A component of the fusion says nothing about this row: the others count alone.",
}
PROBABILITY_HELP = {
    "P(DE)": "Probability that the knockdown changes the gene's expression at all (differential expression).",
    "P(up | DE)": "Probability that the change is up, given that there is one.",
}
_MARKS = frozenset(r"\`*_{}[]()<>#+-.!|~$:&")
_BARE = re.compile(r":(?=[\w/])|@|www", re.IGNORECASE)


def as_text(message: object) -> str:
    """What files, models and people wrote, for a place that takes Markdown, of which nothing may come into effect.

    Bare addresses and :directives: are looked for after escapes are gone, so an invisible joiner breaks these.
    """
    escaped = "".join(f"\\{c}" if c in _MARKS else c for c in str(message))
    return _BARE.sub("\\g<0>\u2060", escaped)


def symbol(text: str) -> str:
    """A gene symbol as Markdown italics, reduced to characters that cannot become a link or a directive."""
    return f"*{_inert(text)}*"


def _inert(text: str) -> str:
    safe = re.sub(r"[^\w.+\-() ]", "·", text).replace("_", r"\_").replace("www.", "www·")
    return re.sub(r"([().+\-])", r"\\\1", safe)


def pair(pert: str, gene: str) -> str:
    """perturbation ⟶ target, as Markdown."""
    return f"{symbol(pert)} ⟶ {symbol(gene)}"


def label_text(label: str | None) -> str:
    """A label as sign and word; "no label" where it is unknown."""
    return f"{theme.LABEL_SIGNS[label]} {label}" if label else "no label here"


def percent(p: float | None) -> str:
    """A probability for text: whole percents, an en dash where it is missing."""
    return "–" if p is None or p != p else f"{100 * p:.0f}%"


def bar(parts: list[tuple[str, float, str]]) -> None:
    """One stacked bar of (caption, share in [0, 1], colour); captions stand below in the same order."""
    pieces = "".join(f'<div style="width:{100 * max(share, 0):.2f}%;background:{colour}"></div>' for _, share, colour in parts)
    words = "".join(
        f'<span style="margin-right:1.2em"><span style="color:{colour}">■</span> {html.escape(caption)}</span>'
        for caption, _, colour in parts
    )
    st.html(
        f'<div style="display:flex;height:10px;border-radius:3px;overflow:hidden;background:#8884">{pieces}</div>'
        f'<div style="font-size:0.9rem;margin-top:4px">{words}</div>'
    )


def heading(text: str, colour: str, remark: str = "") -> None:
    """A role's name with its colour, and what is odd about what it said."""
    sign = f'<span style="color:{theme.WARNING};margin-left:0.8em">⚠</span>'
    warning = f'{sign} <span style="font-size:0.9rem;opacity:0.75">{html.escape(remark)}</span>' if remark else ""
    st.html(f'<div style="border-left:4px solid {colour};padding-left:8px"><b>{html.escape(text)}</b>{warning}</div>')


def tabs(key: str, parts: Mapping[str, Callable[[], object]]) -> None:
    """Tabs of which only the open one is drawn; which one that is stands in the address under `key`."""
    for tab, draw in zip(st.tabs(list(parts), key=key, bind="query-params"), parts.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def empty(text: str, action: Callable[[], object] | None = None) -> None:
    """What to do where there is nothing to show."""
    with st.container(border=True):
        st.markdown(text)
        if action is not None:
            action()


def figure(chart: go.Figure, table: pd.DataFrame, name: str, caption: str) -> None:
    """A figure with its caption, its table, and downloads as PNG, SVG and CSV."""
    place = st.empty()
    draw = partial(
        place.plotly_chart, chart, theme=None, key=f"figure-{name}", config={"displaylogo": False, "displayModeBar": False}
    )
    if _PLOTLY_IS_LOADED in st.session_state:
        draw()
    else:
        place.skeleton(height=int(chart.layout.height or theme.HEIGHT_PX))
        st.session_state.setdefault(_WAITING, []).append(draw)
    left, right = st.columns([0.75, 0.25])
    left.caption(as_text(caption))
    with right.popover("Table", icon=":material/download:", width="stretch"):
        st.dataframe(table, hide_index=True)
        st.download_button("CSV", lambda: encode(table, "csv"), f"{name}.csv", "text/csv", key=f"csv-{name}")
        for form in ("png", "svg"):
            st.download_button(
                form.upper(),
                partial(_image, chart, form),
                f"{name}.{form}",
                key=f"{form}-{name}",
                on_click="ignore",
            )


def draw_waiting() -> None:
    """Draw the figures of a tab's first page when all else has reached it.

    A browser that loads plotly shows nothing else for a second: numbers and words come first.
    """
    waiting = st.session_state.pop(_WAITING, [])
    if waiting:
        time.sleep(_HEAD_START_S)
        for draw in waiting:
            draw()
        st.session_state[_PLOTLY_IS_LOADED] = True


def _image(chart: go.Figure, form: str) -> bytes:
    printed = go.Figure(chart).update_layout(template=theme.template("light"), paper_bgcolor="white")
    return bytes(printed.to_image(form, scale=2))


def themed(chart: go.Figure) -> go.Figure:
    """A figure in the surface that the visitor chose."""
    return chart.update_layout(template=theme.template("dark" if st.context.theme.type == "dark" else "light"))
