"""Figure: the AUROC of every gene or perturbation, raw and partially pooled."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme
from core.texts import estimate_text

COLUMNS = ("name", "positives", "negatives", "raw", "shrunken", "low", "high")
_SMALL, _LARGE = 3, 6
_MANY = 200  # from this many groups on, dots are small and the intervals form a band


def figure(table: pd.DataFrame, mean: float, title: str, unit: str) -> go.Figure:
    """Draw raw AUROCs as hollow grey dots and pooled ones as filled dots with 95% intervals, in the order of the table.

    table: `COLUMNS`. mean: of the true AUROCs. title: of the value axis; unit: the meaning of a dot, such as "target genes".
    """
    drawing.require_columns("pooled_aurocs", table, COLUMNS)
    place = list(range(1, len(table) + 1))
    hover = [_hover(row) for row in table[list(COLUMNS)].itertuples(index=False)]
    chart = go.Figure()
    dots: dict[str, Any] = {"x": place, "mode": "markers", "hovertext": hover, "hovertemplate": "%{hovertext}<extra></extra>"}
    size = _LARGE if len(table) < _MANY else _SMALL
    grey = {"color": theme.BASELINE, "size": size, "symbol": "circle-open", "line": {"width": 1}, "opacity": 0.6}
    chart.add_scatter(y=table["raw"], name="raw", marker=grey, **dots)
    bars = drawing.error_bars(table, "shrunken", drawing.transparent(theme.CHOSEN, 0.35)) | {"width": 0, "thickness": 1}
    chart.add_scatter(
        y=table["shrunken"], name="partially pooled", marker={"color": theme.CHOSEN, "size": size}, error_y=bars, **dots
    )
    lines = [drawing.Line(drawing.CHANCE, "chance 0.5", dash="dot"), drawing.Line(mean, f"mean {mean:.3f}", theme.CHOSEN)]
    right = max(drawing.draw_horizontal(chart, line) for line in _apart(lines))
    chart.update_layout(height=int(1.5 * theme.HEIGHT_PX), margin_r=right, showlegend=True)
    chart.update_layout(legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"})
    chart.update_xaxes(title=f"{unit}, the highest first", range=[0.5, len(table) + 0.5], tickformat=",", zeroline=False)
    chart.update_yaxes(title=title, range=[-0.03, 1.03], showgrid=True, zeroline=False)
    return chart


def _apart(lines: list[drawing.Line]) -> list[drawing.Line]:
    """Return the lines; if their names would touch, the first has no name."""
    chance, mean = lines
    near = abs(chance.value - mean.value) < 0.05
    return [drawing.Line(chance.value, "", chance.colour, chance.dash) if near else chance, mean]


def _hover(row: Any) -> str:
    return (
        f"{drawing.escape(row.name)}<br>raw {row.raw:.3f}, partially pooled {estimate_text(row.shrunken, row.low, row.high)}"
        f"<br>{row.positives:,.0f} of one class, {row.negatives:,.0f} of the other"
    )
