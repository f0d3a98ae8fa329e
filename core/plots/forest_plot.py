"""A forest plot: names on the left, dots with error bars in the middle, words on the right. Many figures use it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

NAME_LENGTH = 36  # characters of a name; the hover shows the full name
_DOT, _GAP_PX = 9, 6


def draw_forest(
    rows: pd.DataFrame, lines: Sequence[drawing.Line], title: str, reach: Sequence[float] = (), row_px: int = theme.ROW_PX
) -> go.Figure:
    """Draw one row of the plot for each row of the table, from the top, and every line with its name.

    rows: name and words (markup; names from users must be escaped), hover, colour, symbol, and estimate, low, high: a row
    without an estimate has no dot, one without an interval a hollow dot. title: of the value axis. reach: values that the axis
    also includes. row_px: the height of a row.
    """
    rows = rows.assign(y=np.arange(len(rows)))
    figure = go.Figure()
    for colour, part in rows[rows["estimate"].notna()].groupby("colour", sort=False):
        hollow = part[["low", "high"]].isna().any(axis=1)
        figure.add_scatter(
            x=part["estimate"],
            y=part["y"],
            mode="markers",
            marker={"color": colour, "size": _DOT, "symbol": part["symbol"].where(~hollow, part["symbol"] + "-open")},
            error_x=drawing.error_bars(part, "estimate", str(colour)),
            hovertext=part["hover"],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    ends = [*rows[["estimate", "low", "high"]].to_numpy(dtype=np.float64).ravel(), *[*(line.value for line in lines), *reach]]
    low, high = float(np.nanmin(ends)), float(np.nanmax(ends))
    room = 0.04 * (high - low) or 0.05
    span = low - room, high + room
    above = drawing.draw_vertical(figure, lines, span)
    height = above + 70 + row_px * len(rows)
    figure.update_layout(height=height, margin_t=8 + above, minreducedheight=row_px)
    figure.update_xaxes(title=title, range=span, zeroline=False)
    figure.update_yaxes(range=[len(rows) - 0.5, -0.5], tickvals=rows["y"], ticktext=rows["name"], zeroline=False)
    figure.update_yaxes(ticklabelstandoff=_GAP_PX)
    return _draw_words(figure, rows)


def dot_row(name: str, words: str, hover: str, ends: Sequence[float], *, chosen: bool) -> dict[str, object]:
    """Return a table row with a dot, bold and in colour if chosen. name: as text; ends: estimate, low, high."""
    shown = drawing.escape(name, NAME_LENGTH)
    look = {"colour": theme.CHOSEN if chosen else theme.BASELINE, "symbol": "circle"}
    place = dict(zip(("estimate", "low", "high"), ends, strict=True))
    return {"name": f"<b>{shown}</b>" if chosen else shown, "words": words, "hover": hover, **look, **place}


def heading_row(name: str) -> dict[str, object]:
    """Return a table row with the name of the group below it. name: as text."""
    nothing = {"words": "", "hover": "", "colour": theme.NONE, "symbol": "circle"}
    return {"name": f"<i>{drawing.escape(name)}</i>", **nothing, "estimate": math.nan, "low": math.nan, "high": math.nan}


def _draw_words(figure: go.Figure, rows: pd.DataFrame) -> go.Figure:
    """Draw the words as ticks of a second axis, so that the margin fits them; an axis without a trace is not drawn."""
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
