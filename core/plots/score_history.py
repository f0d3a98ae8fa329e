"""Figure: the scores of all trials, in order, with the noise of a single score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme
from core.texts import estimate_text

COLUMNS = ("step", "label", "score", "low", "high", "verdict", "is_best", "n")
_LONGEST = 28  # characters of a name below the axis
_NAMES_PX = 90


def figure(table: pd.DataFrame, metric: str = "mean") -> go.Figure:
    """Draw the scores in the order of the trials, joined by a line; the band is the 95% noise of one score.

    table: COLUMNS; step: the position, from 0; label: the trial; low, high: NaN if the noise is unknown; verdict: None for the
    score at the start; is_best: whether every earlier score was lower. Such scores have the colour of the chosen run, with a
    star for a confirmed step. metric: de, dir, mean. Raise InputError for missing columns.
    """
    drawing.require_columns("score_history", table, COLUMNS)
    chart = go.Figure()
    _draw_band(chart, table.dropna(subset=["low", "high"]))
    chart.add_scatter(
        x=table["step"], y=table["score"], mode="lines", line={"color": theme.BASELINE, "width": 1.5}, hoverinfo="skip"
    )
    chart.add_scatter(
        x=table["step"],
        y=table["score"],
        mode="markers+text",
        text=[f"{score:.3f}" for score in table["score"]],
        textposition="top center",
        textfont={"size": drawing.SMALL},
        cliponaxis=False,
        hovertext=[_hover(row, metric) for row in table.to_dict("records")],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "color": [theme.CHOSEN if best else theme.BASELINE for best in table["is_best"]],
            "symbol": ["star" if verdict == "confirmed" else "circle" for verdict in table["verdict"]],
            "size": [15 if verdict == "confirmed" else 10 for verdict in table["verdict"]],
        },
    )
    names = [drawing.escape(label, _LONGEST) for label in table["label"]]
    chart.update_layout(height=theme.HEIGHT_PX + _NAMES_PX, margin_r=40)
    chart.update_xaxes(
        tickvals=table["step"], ticktext=names, tickangle=-30, showgrid=False, zeroline=False, range=[-0.5, len(table) - 0.5]
    )
    known = {name.lower(): title for name, title in drawing.METRICS.items()}
    chart.update_yaxes(showgrid=True, zeroline=False, title=known.get(metric, metric))
    return chart


def _draw_band(chart: go.Figure, known: pd.DataFrame) -> None:
    """Draw the noise of one score around every score with known noise."""
    chart.add_scatter(
        x=[*known["step"], *known["step"][::-1]],
        y=[*known["high"], *known["low"][::-1]],
        fill="toself",
        fillcolor=drawing.transparent(theme.BASELINE, 0.2),
        mode="lines",
        line_width=0,
        hoverinfo="skip",
    )


def _hover(row: Mapping[Any, Any], metric: str) -> str:
    interval = estimate_text(row["score"], row["low"], row["high"])
    n = float("nan") if row["n"] is None else row["n"]
    verdict = row["verdict"] if isinstance(row["verdict"], str) else "the start"
    return f"{drawing.escape(row['label'])}<br>{interval}<br>{verdict}<br>{drawing.rows_text(n, metric)}"
