"""Figure: a run compared with the baselines without biology."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot
from core.plots.forest_plot import Row, ends_of
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
    every: list[Any] = list(table.itertuples())
    alike = [row for row in every if not row.own and row.low == row.estimate == row.high == CHANCE]
    if len(alike) > 1:
        every = [row for row in every if row not in alike[1:]]
    rows = [_row_of_alike(alike) if len(alike) > 1 and row is alike[0] else _row(row) for row in every]
    return forest_plot.draw_forest(rows, drawing.reference_lines({}), title)


def _row_of_alike(alike: Sequence[Any]) -> Row:
    """Return the row of several controls that tie all rows."""
    first = alike[0]
    about = [f"{row.name}: {row.about}" for row in alike]
    hover = (*about, f"{first.estimate:.3f}: all rows are tied", drawing.rows_text(first.n))
    words = f"{first.estimate:.3f}, all rows tied"
    return Row(first.name, ends_of(first), words, hover, after=f" and {len(alike) - 1} more")


def _row(row: Any) -> Row:
    words = estimate_text(*ends_of(row))
    return Row(row.name, ends_of(row), words, (row.name, row.about, words, drawing.rows_text(row.n)), row.own)
