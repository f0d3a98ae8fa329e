"""Figure: a run beside what knows no biology."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.texts import estimate_text

COLUMNS = ("name", "about", "estimate", "low", "high", "n", "own")


def figure(table: pd.DataFrame, title: str) -> go.Figure:
    """One row of the forest plot for the run and for each control, in the order given, beside the line of chance.

    table: name, about (what it sees), estimate, low, high, n, own (whether it is the run). title: of the value axis. Raises
    InputError for missing columns.
    """
    drawing.require_columns("control_scores", table, COLUMNS)
    rows = pd.DataFrame([_row(row) for row in table[list(COLUMNS)].itertuples(index=False)])
    return forest_plot.draw_forest(rows, drawing.reference_lines({}), title)


def _row(row: Any) -> dict[str, object]:
    words, name = estimate_text(row.estimate, row.low, row.high), drawing.escape(row.name, forest_plot.NAME_LENGTH)
    return {
        "name": f"<b>{name}</b>" if row.own else name,
        "words": words,
        "hover": f"{drawing.escape(row.name)}<br>{drawing.escape(row.about)}<br>{words}<br>{drawing.rows_text(row.n)}",
        "colour": theme.CHOSEN if row.own else theme.BASELINE,
        "symbol": "circle",
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
    }
