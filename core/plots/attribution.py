"""Figure: the change of the answers without each tool, compared with asking again."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row, ends_of
from core.texts import estimate_text, number_text

COLUMNS = ("name", "estimate", "low", "high", "n", "p_holm", "confirmed")
_BAND_OPACITY = 0.25


def figure(table: pd.DataFrame, floor: tuple[float, float, float]) -> go.Figure:
    """Draw one row of the forest plot for each tool, in the given order, over the band of the noise floor.

    table: name, estimate, low, high (of mean |Δ|), n, p_holm, confirmed. floor: estimate, low and high of mean |Δ| of asking
    again; no band without an interval. Raise InputError for missing columns.
    """
    drawing.require_columns("attribution", table, COLUMNS)
    rows = [_row(row) for row in table.itertuples()]
    estimate, low, high = floor
    line = drawing.Line(estimate, f"asking again {number_text(estimate)}", theme.WARNING)
    reach = [0.0, *(each for each in (low, high) if each == each)]  # NaN is not equal to itself
    chart = forest_plot.draw_forest(rows, [line], "mean |Δ| of the answers without the tool", reach)
    if low == low and high == high:
        band = drawing.transparent(theme.WARNING, _BAND_OPACITY)
        chart.add_shape(type="rect", x0=low, x1=high, yref="paper", y0=0, y1=1, fillcolor=band, line_width=0, layer="below")
    return chart


def _row(row: Any) -> Row:
    words, p = estimate_text(*ends_of(row)), f"one-sided p after Holm {number_text(row.p_holm, '.4f')}"
    return Row(row.name, ends_of(row), f"{words} · {p}", (row.name, words, p, drawing.rows_text(row.n)), row.confirmed)
