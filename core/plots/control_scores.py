"""Figure: a run compared with the baselines without biology."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.texts import estimate_text

CHANCE = 0.5  # if the interval has no width, all rows are tied
COLUMNS = ("name", "about", "estimate", "low", "high", "n", "own")


def figure(table: pd.DataFrame, title: str) -> go.Figure:
    """Draw one row of the forest plot for the run and for each control, in the given order, with the line of chance. Controls
    that tie all rows share one row, at the position of the first; the hover names them.

    table: name, about (the inputs of the control), estimate, low, high, n, own (whether it is the run). title: of the value
    axis. Raise InputError for missing columns.
    """
    drawing.require_columns("control_scores", table, COLUMNS)
    every: list[Any] = list(table[list(COLUMNS)].itertuples(index=False))
    alike = [row for row in every if not row.own and row.low == row.estimate == row.high == CHANCE]
    if len(alike) > 1:
        every = [row for row in every if row not in alike[1:]]
    rows = [_row(row) | (_row_of_alike(alike) if len(alike) > 1 and row is alike[0] else {}) for row in every]
    return forest_plot.draw_forest(pd.DataFrame(rows), drawing.reference_lines({}), title)


def _row_of_alike(alike: Sequence[Any]) -> dict[str, object]:
    """Return the row of several controls that tie all rows."""
    first = alike[0]
    names = "<br>".join(f"{drawing.escape(row.name)}: {drawing.escape(row.about)}" for row in alike)
    return {
        "name": f"{drawing.escape(first.name, forest_plot.NAME_LENGTH)} and {len(alike) - 1} more",
        "words": f"{first.estimate:.3f}, all rows tied",
        "hover": f"{names}<br>{first.estimate:.3f}: all rows are tied<br>{drawing.rows_text(first.n)}",
    }


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
