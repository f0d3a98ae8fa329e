"""Figure: the number of genes that each perturbation changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme


def draw_effect_counts(table: pd.DataFrame, least: int) -> go.Figure:
    """Draw stacked bars of up and down, the perturbation with the most effects first, and the line
    that a perturbation must reach to get rows.

    table: pert, up, down (numbers of genes). least: the number of effects that a perturbation
    needs.
    """
    ordered = table.assign(total=table["up"] + table["down"]).sort_values(
        ["total", "pert"], ascending=[False, True]
    )
    chart = go.Figure()
    names = [drawing.escape(pert) for pert in ordered["pert"]]
    for label in ("down", "up"):
        word = f"{theme.LABEL_SIGNS[label]} {theme.LABEL_WORDS[label]}"
        chart.add_bar(
            x=np.arange(1, len(ordered) + 1),
            y=ordered[label],
            name=label,
            marker_color=theme.LABEL_COLOURS[label],
            hovertext=names,
            hovertemplate=f"%{{hovertext}}<br>{word} %{{y:,}} genes<extra></extra>",
        )
    kept = int((ordered["total"] >= least).sum())
    right = drawing.draw_horizontal(chart, drawing.Line(least, f"at least {least}"))
    chart.update_layout(barmode="stack", bargap=0.15 if len(ordered) <= 200 else 0, margin_r=right)
    chart.update_xaxes(
        title=f"perturbations, most effects first ({kept:,} of {len(ordered):,} have enough)",
        showgrid=False,
    )
    chart.update_yaxes(title="genes up or down", showgrid=True, tickformat=",")
    return chart
