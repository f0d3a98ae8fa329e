"""Figure: scores of an ablation's arms, one block for each metric."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row, ends_of
from core.texts import estimate_text

COLUMNS = ("arm", "metric", "estimate", "low", "high", "n", "change", "change_low", "change_high")


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one row of the forest plot for each arm, grouped by metric, with the line of chance.

    table: arm, metric (DE, DIR, mean), estimate, low, high, n, and the paired change from the baseline with its interval. The
    change is NaN for the baseline and if unknown.
    """
    drawing.require_columns("ablation_scores", table, COLUMNS)
    drawing.require_values("ablation_scores", table, "metric", drawing.METRICS)
    order = table.sort_values("metric", key=lambda names: names.map(list(drawing.METRICS).index), kind="stable")
    rows = forest_plot.rows_in_blocks(order, "metric", _row)
    return forest_plot.draw_forest(rows, drawing.reference_lines({}), "AUROC")


def _row(row: Any) -> Row:
    words = estimate_text(*ends_of(row))
    hover = [row.arm, f"{row.metric} {words}", drawing.rows_text(row.n, row.metric)]
    if not pd.isna(row.change):
        change = estimate_text(row.change, row.change_low, row.change_high, "+.3f")
        words, hover = f"{words}   {change}", [*hover, f"against the baseline   {change}"]
    return Row(row.arm, ends_of(row), words, hover, colour=theme.CHOSEN)
