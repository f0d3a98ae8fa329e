"""Figure: the target's remaining expression for each perturbation and guide."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

_HIGHEST: Final = 200.0  # percent; larger values are drawn here


def draw_knockdown(table: pd.DataFrame, most_remaining: float) -> go.Figure:
    """Draw one diamond for each perturbation, ordered by remaining expression, and a small circle
    for each guide.

    Guides above the dashed line count as failed. table: target, guide ("" for all cells of a
    perturbation), n_cells, remaining (share, NaN is not drawn).
    """
    known = table.dropna(subset=["remaining"])
    known = known.assign(has_failed=known["remaining"] > most_remaining)
    whole = known[known["guide"] == ""].sort_values(["remaining", "target"])
    place = {target: i + 1 for i, target in enumerate(whole["target"])}
    chart = go.Figure()
    for part, marker in (
        (known[known["guide"] != ""], {"symbol": "circle-open", "size": 6}),
        (whole, {"symbol": "diamond", "size": 8}),
    ):
        chart.add_scatter(
            x=part["target"].map(place),
            y=(100 * part["remaining"]).clip(upper=_HIGHEST),
            mode="markers",
            marker={"color": np.where(part["has_failed"], theme.WARNING, theme.CHOSEN), **marker},
            hovertext=[_hover(row) for row in part.itertuples()],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    right = drawing.draw_horizontal(
        chart, drawing.Line(100 * most_remaining, f"{100 * most_remaining:.0f}%")
    )
    chart.update_layout(margin_r=right)
    chart.update_xaxes(title="perturbations, least remaining first", showgrid=False, zeroline=False)
    chart.update_yaxes(
        title="target's remaining expression, % of controls",
        showgrid=True,
        rangemode="tozero",
        zeroline=False,
    )
    return chart


def _hover(row: Any) -> str:
    guide = f", guide {drawing.escape(row.guide)}" if row.guide else ""
    failed = ", failed" if row.has_failed else ""
    return (
        f"{drawing.escape(row.target)}{guide}<br>{row.n_cells:,} cells, {100 * row.remaining:.0f}%"
        f" remains{failed}"
    )
