"""A forest plot: names on the left, dots with error bars in the middle, words on the right. Many
figures use it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

NAME_LENGTH = 36  # characters of a name; the hover shows the full name
ENDS = ("estimate", "low", "high")
_DOT, _GAP_PX = 9, 6


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the plot; every text is shown as it is.

    ends: estimate, low, high. A row without an estimate has no dot, one without an interval a
    hollow dot. words: on the right. hover: the lines of the hover text. is_bold: whether the reader
    should see the row first. colour: by default that of the chosen run for a bold row, that of the
    others otherwise. longest: characters of the name; the hover shows the full name.
    """

    name: str
    ends: tuple[float, float, float]
    words: str
    hover: Sequence[str]
    is_bold: bool = False
    colour: str | None = None
    symbol: str = "circle"
    longest: int = NAME_LENGTH
    is_heading: bool = False

    def as_record(self) -> dict[str, object]:
        """Return the row as drawn: name and hover as markup, words, colour, symbol, estimate, low
        and high."""
        name = drawing.escape(self.name, self.longest)
        name = f"<b>{name}</b>" if self.is_bold else f"<i>{name}</i>" if self.is_heading else name
        return {
            "name": name,
            "words": drawing.escape(self.words),
            "hover": "<br>".join(map(drawing.escape, self.hover)),
            "colour": self.colour or (theme.CHOSEN if self.is_bold else theme.BASELINE),
            "symbol": self.symbol,
            **dict(zip(ENDS, self.ends, strict=True)),
        }


def heading(name: str, words: str = "") -> Row:
    """Return a row without a dot that names the rows below it."""
    return Row(name, (math.nan, math.nan, math.nan), words, (), is_heading=True, longest=len(name))


def rows_in_blocks(
    table: pd.DataFrame,
    by: str,
    row: Callable[[Any], Row],
    words: Callable[[pd.DataFrame], str] = lambda _: "",
) -> list[Row]:
    """Return the rows of a table below headings. by: the column of the headings; words: of a
    heading, from its rows."""
    rows: list[Row] = []
    for name, part in table.groupby(by, sort=False):
        rows += [heading(str(name), words(part)), *map(row, part.itertuples())]
    return rows


def ends_of(row: Any) -> tuple[float, float, float]:
    """Return the estimate of a table's row and its limits."""
    return row.estimate, row.low, row.high


def draw_forest(
    shown: Sequence[Row],
    lines: Sequence[drawing.Line],
    title: str,
    reach: Sequence[float] = (),
) -> go.Figure:
    """Draw one row of the plot for each row, from the top, and every line with its name.

    title: of the value axis, which also includes the values of `reach`.
    """
    rows = pd.DataFrame([each.as_record() for each in shown]).assign(y=np.arange(len(shown)))
    figure = go.Figure()
    for colour, part in rows[rows["estimate"].notna()].groupby("colour", sort=False):
        hollow = part[["low", "high"]].isna().any(axis=1)
        figure.add_scatter(
            x=part["estimate"],
            y=part["y"],
            mode="markers",
            marker={
                "color": colour,
                "size": _DOT,
                "symbol": part["symbol"].where(~hollow, part["symbol"] + "-open"),
            },
            error_x=drawing.error_bars(part, "estimate", str(colour)),
            hovertext=part["hover"],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    ends = [
        *rows[list(ENDS)].to_numpy(dtype=np.float64).ravel(),
        *[*(line.value for line in lines), *reach],
    ]
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.04 * (high - low) or 0.05
    span = low - room, high + room
    above = drawing.draw_vertical(figure, lines, span)
    height = above + 70 + theme.ROW_PX * len(rows)
    figure.update_layout(height=height, margin_t=8 + above, minreducedheight=theme.ROW_PX)
    figure.update_xaxes(title=title, range=span, zeroline=False)
    figure.update_yaxes(
        range=[len(rows) - 0.5, -0.5], tickvals=rows["y"], ticktext=rows["name"], zeroline=False
    )
    figure.update_yaxes(ticklabelstandoff=_GAP_PX)
    return _draw_words(figure, rows)


def _draw_words(figure: go.Figure, rows: pd.DataFrame) -> go.Figure:
    """Draw the words as ticks of a second axis, so that the margin fits them; an axis without a
    trace is not drawn."""
    figure.add_scatter(x=[None], y=[None], yaxis="y2", hoverinfo="skip")
    figure.update_layout(
        yaxis2={
            "overlaying": "y",
            "side": "right",
            "range": [len(rows) - 0.5, -0.5],
            "tickvals": rows["y"],
            "ticktext": rows["words"],
            "ticklabelstandoff": _GAP_PX,
            "showgrid": False,
            "zeroline": False,
            "automargin": True,
        }
    )
    return figure
