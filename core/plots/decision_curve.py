"""Figure: the decision curve, the net benefit of validating rows above a threshold."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme
from core.texts import estimate_text

COLUMNS = ("threshold", "chosen", "benefit", "low", "high", "everything")


def figure(table: pd.DataFrame, score: str) -> go.Figure:
    """Draw net benefit against the threshold, with its 95% interval as a band, compared with validating all rows and none.

    table: `COLUMNS`, one row for each threshold. score: the probability's name, such as "P(DE)".
    """
    drawing.require_columns("decision_curve", table, COLUMNS)
    chart = go.Figure()
    known = table.dropna(subset=["low", "high"])
    x, band = known["threshold"], drawing.transparent(theme.CHOSEN, 0.2)
    chart.add_scatter(x=x, y=known["high"], mode="lines", line={"width": 0}, hoverinfo="skip", showlegend=False)
    chart.add_scatter(
        x=x, y=known["low"], mode="lines", line={"width": 0}, fill="tonexty", fillcolor=band, hoverinfo="skip", showlegend=False
    )
    everything = {"color": theme.BASELINE, "width": 1.5, "dash": "dash"}
    chart.add_scatter(x=table["threshold"], y=table["everything"], mode="lines", line=everything, name="validate all rows")
    chart.add_scatter(
        x=table["threshold"],
        y=table["benefit"],
        mode="lines+markers",
        line={"color": theme.CHOSEN, "width": 2},
        name=f"validate rows with {drawing.escape(score)} at or above the threshold",
        hovertext=list(map(_hover, table.itertuples())),
        hovertemplate="threshold %{x:.2f}: %{hovertext}<extra></extra>",
    )
    right = drawing.draw_horizontal(chart, drawing.Line(0.0, "none", dash="dot"))
    lowest = min(float(known["low"].min()) if len(known) else 0.0, -0.02)
    highest = max(float(table["everything"].max()), float(table["benefit"].max()), 0.02)
    chart.update_layout(height=int(1.5 * theme.HEIGHT_PX), margin_r=right, showlegend=True)
    chart.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    chart.update_xaxes(title=f"threshold of {drawing.escape(score)}", range=[0, 1], zeroline=False)
    room = 0.05 * (highest - lowest)
    chart.update_yaxes(title="net benefit, hits a row", range=[max(lowest, -highest) - room, highest + room], showgrid=True)
    return chart


def _hover(row: Any) -> str:
    return f"{row.chosen:,.0f} rows, net benefit {estimate_text(row.benefit, row.low, row.high, '+.3f')}"
