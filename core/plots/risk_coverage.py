"""Figure: risk against coverage, the error rate of a run on the rows with its surest answers."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme
from core.texts import estimate_text

COLUMNS = ("question", "coverage", "n", "risk", "low", "high", "at_random")
_COLOURS = {"DE": theme.CHOSEN, "DIR": theme.WARNING}


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one line for each question, with its 95% interval, and the dashed line of abstaining at random.

    table: `COLUMNS`, one row for each question and coverage, in order.
    """
    drawing.require_columns("risk_coverage", table, COLUMNS)
    chart = go.Figure()
    for question, rows in table.groupby("question", sort=False):
        colour = _COLOURS.get(str(question), theme.BASELINE)
        chart.add_scatter(
            x=rows["coverage"],
            y=rows["risk"],
            error_y={"array": rows["high"] - rows["risk"], "arrayminus": rows["risk"] - rows["low"], "color": colour, "width": 0},
            mode="lines+markers",
            line={"color": colour, "width": 2},
            name=drawing.escape(str(question)),
            hovertext=list(map(_hover, rows.itertuples())),
            hovertemplate="%{x:.0%} answered: %{hovertext}<extra></extra>",
        )
        chart.add_scatter(
            x=[0, 1],
            y=[rows["at_random"].iloc[0]] * 2,
            mode="lines",
            line={"color": colour, "width": 1, "dash": "dash"},
            name=f"{drawing.escape(str(question))}, abstaining at random",
            hoverinfo="skip",
        )
    chart.update_layout(height=int(1.5 * theme.HEIGHT_PX), showlegend=True)
    chart.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    chart.update_xaxes(title="answered rows, the surest first", range=[0, 1.03], tickformat=".0%", zeroline=False)
    chart.update_yaxes(title="share of wrong calls", rangemode="tozero", showgrid=True)
    return chart


def _hover(row: Any) -> str:
    return f"wrong in {estimate_text(row.risk, row.low, row.high)} of {row.n:,} rows"
