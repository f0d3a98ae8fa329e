"""Figure: the training of ranking models by epoch: the loss, or the mean reciprocal rank on validation cells."""

from __future__ import annotations

from typing import Final

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

MEASURES: Final = {"train_loss": "loss on training cells", "validation_mrr": "MRR on validation cells"}
COLUMNS = ("model", "epoch")
_NAMES_PX: Final = 110
_COLOURS: Final = (theme.CHOSEN, theme.BASELINE)
_FEW_EPOCHS: Final = 12  # up to this many, each has a tick


def figure(table: pd.DataFrame, measure: str) -> go.Figure:
    """Draw one line for each model by epoch, named at its end.

    A star marks the saved epoch, the best on validation cells. table: COLUMNS, the measure (one of MEASURES) and
    validation_mrr; rows without the measure are left out. Raise InputError for missing columns.
    """
    drawing.require_columns("ranking_training", table, (*COLUMNS, measure, "validation_mrr"))
    chart = go.Figure()
    for at, (model, rows) in enumerate(table.dropna(subset=[measure]).groupby("model", sort=False)):
        rows, colour = rows.sort_values("epoch"), _COLOURS[at % len(_COLOURS)]
        name = drawing.escape(model, 24)
        chart.add_scatter(
            x=rows["epoch"],
            y=rows[measure],
            mode="lines+markers",
            line={"color": colour, "width": 2},
            marker_size=6,
            hovertemplate=f"{name}<br>epoch or round %{{x}}<br>{MEASURES[measure]} %{{y:.4f}}<extra></extra>",
        )
        if rows["validation_mrr"].notna().any():
            best = rows.iloc[int(rows["validation_mrr"].argmax())]
            star = {"symbol": "star", "size": 15, "color": theme.WARNING}
            kept = f"{name}<br>saved: {best['epoch']:.0f}<extra></extra>"
            chart.add_scatter(x=[best["epoch"]], y=[best[measure]], mode="markers", marker=star, hovertemplate=kept)
        last = rows.iloc[-1]
        font = {"size": drawing.SMALL, "color": colour}
        chart.add_annotation(x=last["epoch"], y=last[measure], text=name, xanchor="left", xshift=10, showarrow=False, font=font)
    chart.update_layout(height=theme.HEIGHT_PX, margin_r=_NAMES_PX)
    few = table["epoch"].max() <= _FEW_EPOCHS
    chart.update_xaxes(title="epoch or round", zeroline=False, tickformat="d", dtick=1 if few else None)
    chart.update_yaxes(title=MEASURES[measure], rangemode="tozero", showgrid=True, zeroline=False)
    return chart
