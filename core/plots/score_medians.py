"""Figure: the middle half of a score's values for each label, in several runs."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.score_histograms import KINDS
from core.texts import estimate_text

COLUMNS = ("run", "label", "median", "low", "high", "n")


def figure(table: pd.DataFrame, score: str) -> go.Figure:
    """Draw one row of the forest plot for each label of each run: the median, with a bar from the first to the third quartile.

    table: run, label ("up or down", "none", "up", "down"), median, low and high (quartiles), n. score: the value's name.
    """
    drawing.require_columns("score_medians", table, COLUMNS)
    drawing.require_values("score_medians", table, "label", KINDS)
    rows: list[dict[str, object]] = []
    for run, part in table.groupby("run", sort=False):
        rows.append(forest_plot.heading_row(str(run)))
        rows += [_row(row) for row in part[list(COLUMNS)].itertuples(index=False)]
    return forest_plot.draw_forest(pd.DataFrame(rows), [], score)


def _row(row: Any) -> dict[str, object]:
    kind = KINDS[row.label]
    words = estimate_text(row.median, row.low, row.high, ".2f")
    return {
        "name": f"{theme.LABEL_SIGNS[kind]} {row.label}, {drawing.rows_text(row.n)}",
        "words": words,
        "hover": f"{drawing.escape(row.run)}<br>{row.label}: median {words}<br>{drawing.rows_text(row.n)}",
        "colour": theme.LABEL_COLOURS[kind],
        "symbol": "circle",
        "estimate": row.median,
        "low": row.low,
        "high": row.high,
    }
