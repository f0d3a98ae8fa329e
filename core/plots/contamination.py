"""Figure: the change of a run's score with names coded, swapped, hidden, or alone."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot
from core.plots.forest_plot import Row, ends_of
from core.texts import estimate_text, number_text

COLUMNS = ("name", "score", "estimate", "low", "high", "n", "p_holm", "falls")


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one row of the forest plot for each arm, with the line of no change.

    table: name, score (of the arm), estimate, low, high (of the change from the unchanged run), n, p_holm, falls. Raise
    InputError for missing columns.
    """
    drawing.require_columns("contamination", table, COLUMNS)
    rows = [_row(row) for row in table.itertuples()]
    return forest_plot.draw_forest(rows, [drawing.Line(0.0, "as it is", dash="dot")], "change of the score", [0.0])


def _row(row: Any) -> Row:
    words, p = estimate_text(*ends_of(row), "+.3f"), f"p after Holm {number_text(row.p_holm, '.4f')}"
    hover = (f"{row.name}: {number_text(row.score)}", words, p, drawing.rows_text(row.n))
    return Row(row.name, ends_of(row), f"{words} · {p}", hover, row.falls)
