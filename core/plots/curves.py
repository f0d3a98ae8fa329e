"""Figure: curves by a step, an epoch or k, such as the losses of a training or how often a model
finds a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

COLUMNS = ("curve", "x", "y")
_SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up", "cross")
_DASHES: Final = ("dash", "dot")
_MAX_POINTS: Final = 60  # a longer curve is a line alone
_FEW_STEPS: Final = 12  # up to this many, each has a tick


def figure(
    table: pd.DataFrame, x_title: str, y_title: str, references: Sequence[str] = ()
) -> go.Figure:
    """Draw a line for each curve in its order, the first in the colour of what is chosen.

    table: COLUMNS, and optionally low and high (a 95% interval) and is_best (a star); rows without
    y are left out. x: numbers, or texts at equal distances. references: curves to draw dashed,
    without points.
    """
    chart = go.Figure()
    is_numeric = pd.api.types.is_numeric_dtype(table["x"])
    known = table.reindex(columns=[*COLUMNS, "low", "high", "is_best"]).dropna(subset="y")
    for position, (name, rows) in enumerate(known.groupby("curve", sort=False)):
        is_reference = name in references
        colour = theme.NULL if is_reference else theme.BASELINE if position else theme.CHOSEN
        is_best = rows["is_best"].eq(True)
        chart.add_scatter(
            x=rows["x"] if is_numeric else rows["x"].map(drawing.escape),
            y=rows["y"],
            error_y=drawing.error_bars(rows, "y", colour),
            name=drawing.escape(name, 40),
            mode="lines" if is_reference else "lines+markers",
            line={
                "color": colour,
                "dash": _DASHES[references.index(name) % 2] if is_reference else "solid",
            },
            marker={
                "symbol": np.where(is_best, "star", _SYMBOLS[position % len(_SYMBOLS)]),
                "size": np.where(is_best, 15, 7 if len(rows) <= _MAX_POINTS else 0),
            },
        )
    few = is_numeric and table["x"].max() <= _FEW_STEPS
    chart.update_layout(height=theme.HEIGHT_PX, showlegend=True)
    chart.update_xaxes(title=x_title, zeroline=False, dtick=1 if few else None)
    if not is_numeric:
        chart.update_xaxes(type="category")  # else plotly takes "5" for a number
    chart.update_yaxes(title=y_title, rangemode="tozero", showgrid=True, zeroline=False)
    return chart
