"""Figure: the change of a run's score with names coded, swapped, hidden, or alone."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot
from core.texts import estimate_text, number_text

COLUMNS = ("name", "score", "estimate", "low", "high", "n", "p_holm", "falls")


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one row of the forest plot for each arm, with the line of no change.

    table: name, score (of the arm), estimate, low, high (of the change from the unchanged run), n, p_holm, falls. Raise
    InputError for missing columns.
    """
    drawing.require_columns("contamination", table, COLUMNS)
    rows = pd.DataFrame([_row(row) for row in table[list(COLUMNS)].itertuples(index=False)])
    return forest_plot.draw_forest(rows, [drawing.Line(0.0, "as it is", dash="dot")], "change of the score", [0.0])


def _row(row: Any) -> dict[str, object]:
    ends = row.estimate, row.low, row.high
    words, p = estimate_text(*ends, "+.3f"), f"p after Holm {number_text(row.p_holm, '.4f')}"
    hover = f"{drawing.escape(row.name)}: {number_text(row.score)}<br>{words}<br>{p}<br>{drawing.rows_text(row.n)}"
    return forest_plot.dot_row(row.name, f"{words} · {p}", hover, ends, chosen=row.falls)
