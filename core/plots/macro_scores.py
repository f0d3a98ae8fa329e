"""Figure: an AUROC over all rows, and its means over genes and perturbations."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row, ends_of
from core.texts import NO_BIOLOGY, estimate_text

COLUMNS = ("name", "counted", "estimate", "low", "high", "n", "count_only")
_ROW_PX = 36  # names have two lines, so that the dots keep enough space in a narrow window


def figure(table: pd.DataFrame, title: str) -> go.Figure:
    """Draw one row of the forest plot for each mean, with the line of chance. A hollow diamond is the no-biology baseline.

    table: name, counted ("336 genes"), estimate, low, high, n, and count_only (the baseline scored in the same way); NaN if
    unknown. title: of the value axis. Raise InputError for missing columns.
    """
    drawing.require_columns("macro_scores", table, COLUMNS)
    rows = [_row(row) for row in table.itertuples()]
    control = table["count_only"]
    chart = forest_plot.draw_forest(rows, drawing.reference_lines({}), title, control.dropna().tolist(), row_px=_ROW_PX)
    chart.add_scatter(
        x=control,
        y=list(range(len(table))),
        mode="markers",
        marker={"color": theme.BASELINE, "size": 9, "symbol": "diamond-open", "line": {"width": 1.5}},
        hovertemplate=f"{NO_BIOLOGY} %{{x:.3f}}<extra></extra>",
    )
    return chart


def _row(row: Any) -> Row:
    words = "no pair of both classes" if pd.isna(row.estimate) else estimate_text(*ends_of(row))
    hover = (row.name, words, f"{row.counted}, {drawing.rows_text(row.n)}")
    return Row(row.name, ends_of(row), words, hover, colour=theme.CHOSEN, below=row.counted)
