"""Figure: scores of an ablation's arms, one block for each metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.texts import estimate_text

COLUMNS = ("arm", "metric", "estimate", "low", "high", "n", "change", "change_low", "change_high")


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one row of the forest plot for each arm, grouped by metric, with the line of chance.

    table: arm, metric (DE, DIR, mean), estimate, low, high, n, and the paired change from the baseline with its interval. The
    change is NaN for the baseline and if unknown.
    """
    drawing.require_columns("ablation_scores", table, COLUMNS)
    drawing.require_values("ablation_scores", table, "metric", drawing.METRICS)
    rows = [
        row
        for metric in drawing.METRICS
        if (table["metric"] == metric).any()
        for row in (_header_row(metric), *map(_arm_row, table[table["metric"] == metric].itertuples()))
    ]
    return forest_plot.draw_forest(pd.DataFrame(rows), drawing.reference_lines({}), "AUROC")


def _header_row(metric: str) -> dict[str, object]:
    empty = {"estimate": np.nan, "low": np.nan, "high": np.nan, "words": "", "hover": "", "symbol": "circle"}
    return {"name": f"<b>{drawing.escape(metric)}</b>", "colour": theme.CHOSEN, **empty}


def _arm_row(row: Any) -> dict[str, object]:
    words = estimate_text(row.estimate, row.low, row.high)
    change = "" if pd.isna(row.change) else f"   {estimate_text(row.change, row.change_low, row.change_high, '+.3f')}"
    against = f"<br>against the baseline{change}" if change else ""
    return {
        "name": drawing.escape(row.arm, forest_plot.NAME_LENGTH),
        "words": words + change,
        "hover": f"{drawing.escape(row.arm)}<br>{row.metric} {words}<br>{drawing.rows_text(row.n, row.metric)}{against}",
        "colour": theme.CHOSEN,
        "symbol": "circle",
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
    }
