"""The signs of labels as plotly markers, and the key of these signs above a plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing

# "mixed": several rows with different labels. Later labels are drawn on top of earlier ones.
SYMBOLS: Final = {
    "unknown": "circle-open",
    "none": "circle",
    "mixed": "square",
    "de": "diamond",
    "down": "triangle-down",
    "up": "triangle-up",
}
COLOURS: Final = {**drawing.LABEL_COLOURS, "mixed": drawing.BASELINE}
SIGNS: Final = {**drawing.LABEL_SIGNS, "mixed": "■"}
WORDS: Final = {**drawing.LABEL_WORDS, "mixed": "mixed"}
_FILLED: Final = {"opacity": 0.75}
# an open sign must be visible on a dark page too
_OPEN: Final = {"opacity": 1, "line": {"width": 1.5}}
ABOVE_PX: Final = 8 + drawing.TEXT_PX + 6  # top margin for the key


def label_column(table: pd.DataFrame) -> pd.Series[str]:
    """Return the label column of a figure's table, "unknown" for None, NaN and ""."""
    given = table["label"].astype(object)
    return given.where(given.notna() & given.ne(""), "unknown")


def sign_markup(label: str) -> str:
    """Return the sign of a label in its colour, as markup."""
    return f'<span style="color:{COLOURS[label]}">{SIGNS[label]}</span>'


def hover_words(label: str) -> str:
    """Return the text for a row's label in a hover: "label up", or a text for a row without a
    label."""
    return WORDS[label] if label == "unknown" else f"label {WORDS[label]}"


def counts_by_label(labels: pd.Series[str]) -> list[str]:
    """Return each label in the data, with its sign and its number of rows, as markup."""
    counts = labels.value_counts()
    return [
        f"{sign_markup(label)} {WORDS[label]} {counts[label]:,}"
        for label in reversed(SYMBOLS)
        if label in counts
    ]


def draw_key(chart: go.Figure, words: Sequence[str]) -> None:
    """Draw the key of the marks (words as markup) in one line above the plot."""
    place = {
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 4,
    }
    chart.add_annotation(text="    ".join(words), showarrow=False, **place)


def draw_marks(
    chart: go.Figure, table: pd.DataFrame, x: str, y: str, extra: str, hover: str
) -> None:
    """Draw the sign of its label for each row, label by label, with the key above the plot.

    table: label (of `label_column`), name (markup, the first line of the hover), and the columns x,
    y and extra, which is the customdata of the marks. hover: the last line of the hover, as a
    template.
    """
    for label in SYMBOLS:
        part = table[table["label"] == label]
        if part.empty:
            continue
        stroke = _OPEN if label == "unknown" else _FILLED
        # No WebGL, because some browsers lack it, and seven thousand marks are fast enough without
        # it.
        chart.add_scatter(
            x=part[x],
            y=part[y],
            name=label,
            mode="markers",
            marker={"color": COLOURS[label], "symbol": SYMBOLS[label], "size": 6, **stroke},
            cliponaxis=False,  # the first rank is at the edge
            customdata=part[extra],
            hovertext=part["name"],
            hovertemplate=f"%{{hovertext}}<br>{hover_words(label)}<br>{hover}<extra></extra>",
        )
    draw_key(chart, counts_by_label(table["label"]))
