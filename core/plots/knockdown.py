"""Figure: the target's remaining expression for each perturbation and guide."""

from __future__ import annotations

from typing import Final

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

_HIGHEST: Final = 200.0  # percent; larger values are drawn here


def figure(table: pd.DataFrame, most_remaining: float) -> go.Figure:
    """Draw one diamond for each perturbation, ordered by remaining expression, and a small circle for each guide.

    Guides above the dashed line count as failed. table: target, guide ("" for all cells of a perturbation), n_cells, remaining
    (share, NaN is not drawn).
    """
    known = table.dropna(subset=["remaining"])
    whole = known[known["guide"] == ""].sort_values(["remaining", "target"])
    place = {target: i + 1 for i, target in enumerate(whole["target"])}
    guides = known[known["guide"] != ""]
    chart = go.Figure()
    _draw_marks(chart, guides, place, most_remaining, {"symbol": "circle-open", "size": 6})
    _draw_marks(chart, whole, place, most_remaining, {"symbol": "diamond", "size": 8})
    right = drawing.draw_horizontal(chart, drawing.Line(100 * most_remaining, f"{100 * most_remaining:.0f}%"))
    chart.update_layout(margin_r=right)
    chart.update_xaxes(title="perturbations, least remaining first", showgrid=False, zeroline=False)
    chart.update_yaxes(title="target's remaining expression, % of controls", showgrid=True, rangemode="tozero", zeroline=False)
    return chart


def _draw_marks(
    chart: go.Figure, part: pd.DataFrame, place: dict[str, int], most_remaining: float, marker: dict[str, object]
) -> None:
    percent = (100 * part["remaining"]).clip(upper=_HIGHEST)
    failed = (part["remaining"] > most_remaining).tolist()
    rows = zip(part["target"], part["guide"], part["n_cells"], part["remaining"], failed, strict=True)
    words = [
        f"{drawing.escape(target)}{f', guide {drawing.escape(guide)}' if guide else ''}<br>{n:,} cells, "
        f"{100 * remaining:.0f}% remains{', failed' if is_failed else ''}"
        for target, guide, n, remaining, is_failed in rows
    ]
    colours = [theme.WARNING if is_failed else theme.CHOSEN for is_failed in failed]
    chart.add_scatter(
        x=[place.get(target) for target in part["target"]],
        y=percent,
        mode="markers",
        marker={"color": colours, **marker},
        hovertext=words,
        hovertemplate="%{hovertext}<extra></extra>",
    )
