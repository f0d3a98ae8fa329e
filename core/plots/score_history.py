"""Figure: the scores of all trials, in order, with the noise of a single score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from core.plots import drawing, theme

_LONGEST = 28  # characters of a name below the axis
_NAMES_PX = 90


def figure(steps: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Draw the scores in order, joined by a line, with the 95% noise of each.

    steps: each with step (a name), score, half width (None if unknown), rows, and verdict (None for
    the score at the start). A confirmed step is a star in the colour of the chosen run.
    """
    confirmed = [step["verdict"] == "confirmed" for step in steps]
    chart = go.Figure()
    chart.add_scatter(
        x=[*range(len(steps))],
        y=[step["score"] for step in steps],
        error_y={"array": [step["half width"] for step in steps], "color": theme.BASELINE},
        mode="lines+markers+text",
        line={"color": theme.BASELINE, "width": 1.5},
        text=[f"{step['score']:.3f}" for step in steps],
        textposition="top right",
        textfont={"size": drawing.SMALL},
        cliponaxis=False,
        hovertext=[_hover(step) for step in steps],
        hovertemplate="%{hovertext}<extra></extra>",
        marker={
            "color": [theme.CHOSEN if star else theme.BASELINE for star in confirmed],
            "symbol": ["star" if star else "circle" for star in confirmed],
            "size": [15 if star else 10 for star in confirmed],
        },
    )
    names = [drawing.escape(step["step"], _LONGEST) for step in steps]
    chart.update_layout(height=theme.HEIGHT_PX + _NAMES_PX, margin_r=40)
    chart.update_xaxes(tickvals=[*range(len(steps))], ticktext=names, tickangle=-30, showgrid=False)
    chart.update_yaxes(showgrid=True, zeroline=False, title="score")
    return chart


def _hover(step: Mapping[str, Any]) -> str:
    rows = "" if step["rows"] is None else f"<br>{step['rows']:,} rows"
    words = step["verdict"] or "the start"
    return f"{drawing.escape(step['step'])}<br>{step['score']:.3f}<br>{words}{rows}"
