"""Figure: the standard error of a score by the number of seeds, and its lower limit."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme
from core.texts import number_text

COLUMNS = ("seeds", "se")


def figure(table: pd.DataFrame, floor: float, enough: int | None) -> go.Figure:
    """Draw the error by number of seeds, above the line of the rows' own error, and mark the smallest worthwhile number.

    table: seeds, se (standard error of the mean of DE and DIR with this many seeds). floor: the error with unlimited seeds.
    enough: the smallest number of seeds worth their tokens, or None. Raise InputError for missing columns.
    """
    drawing.require_columns("seed_worth", table, COLUMNS)
    chart = go.Figure()
    chart.add_scatter(
        x=table["seeds"],
        y=table["se"],
        mode="lines+markers",
        line={"color": theme.BASELINE, "width": 2},
        marker={"size": 9, "color": [theme.CHOSEN if seeds == enough else theme.BASELINE for seeds in table["seeds"]]},
        hovertemplate="%{x} seeds<br>standard error %{y:.4f}<extra></extra>",
    )
    for se in table["se"][table["seeds"] == enough]:
        chart.add_annotation(
            x=enough,
            y=se,
            text="1 seed is enough" if enough == 1 else f"{enough} seeds are worth their tokens",
            showarrow=False,
            yshift=14,
            xanchor="left",
            font={"size": drawing.SMALL, "color": theme.CHOSEN},
        )
    right = drawing.draw_horizontal(chart, drawing.Line(floor, f"the rows alone {number_text(floor, '.4f')}", theme.WARNING))
    chart.update_layout(height=theme.HEIGHT_PX, margin_r=right)
    chart.update_xaxes(title="number of averaged seeds", tickvals=table["seeds"], zeroline=False)
    chart.update_yaxes(title="standard error of the mean score", rangemode="tozero", showgrid=True, zeroline=False)
    return chart
