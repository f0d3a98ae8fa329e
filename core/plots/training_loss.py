"""Figure: the loss of a fine-tune by step, for training and validation rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

COLUMNS = ("step", "epoch", "rows", "loss")
ROWS: Final = {"training": theme.BASELINE, "validation": theme.CHOSEN}
_NAME_PX = 80


def table(losses: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row per known loss; columns: step, epoch, rows (training, validation), loss (mean over answer tokens, in nats).

    losses: each with step, epoch, and loss (of training rows) or validation_loss.
    """
    names = {"loss": "training", "validation_loss": "validation"}
    found = [(each["step"], each["epoch"], names[name], each[name]) for each in losses for name in names if name in each]
    return pd.DataFrame(found, columns=list(COLUMNS))


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw two lines by step, named at their ends: each step's training rows, and all validation rows after each epoch.

    table: COLUMNS. Raise InputError for missing columns and other names of rows.
    """
    drawing.require_columns("training_loss", table, COLUMNS)
    drawing.require_values("training_loss", table, "rows", ROWS)
    chart = go.Figure()
    for rows, colour in ROWS.items():
        part = table[table["rows"] == rows]
        if len(part):
            _draw(chart, part, rows, colour)
    chart.update_layout(height=theme.HEIGHT_PX, margin_r=_NAME_PX)
    chart.update_xaxes(title="step", rangemode="tozero", zeroline=False, tickformat=",d")
    chart.update_yaxes(title="loss, nats per answer token", rangemode="tozero", showgrid=True, zeroline=False)
    return chart


def _draw(chart: go.Figure, part: pd.DataFrame, rows: str, colour: str) -> None:
    chart.add_scatter(
        x=part["step"],
        y=part["loss"],
        name=rows,
        mode="lines+markers" if rows == "validation" else "lines",
        line={"color": colour, "width": 2 if rows == "validation" else 1.5},
        marker_size=8,
        customdata=part["epoch"],
        hovertemplate=f"{rows} rows<br>step %{{x:,}}, epoch %{{customdata:.2f}}<br>loss %{{y:.4f}}<extra></extra>",
    )
    last = part.iloc[-1]
    chart.add_annotation(
        x=last["step"],
        y=last["loss"],
        text=f"{rows} {last['loss']:.3f}",
        xanchor="left",
        xshift=6,
        yshift=9 if rows == "validation" else -9,
        showarrow=False,
        font={"size": drawing.SMALL, "color": colour},
    )
