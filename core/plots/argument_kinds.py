"""Figure: the hit rate of rows with each kind of argument, compared with the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row, ends_of
from core.texts import estimate_text

COLUMNS = ("kind", "n", "rows", "share", "estimate", "low", "high")


def figure(table: pd.DataFrame, overall: float) -> go.Figure:
    """Draw one row of the forest plot for each kind, in the given order, with a line at the rate over all rows.

    table: kind, n (texts), rows (behind the hit rate), share (of the texts, in [0, 1]), estimate, low, high of the hit rate, NaN
    if unknown. overall: the hit rate of all rows. Raise InputError for missing columns.
    """
    drawing.require_columns("argument_kinds", table, COLUMNS)
    rows = [_row(row) for row in table[list(COLUMNS)].itertuples(index=False)]
    line = drawing.Line(overall, f"all rows {overall:.2f}", theme.CHOSEN)
    return forest_plot.draw_forest(rows, [line], "share of rows that are hits")


def runs_figure(table: pd.DataFrame, overall: Mapping[str, float]) -> go.Figure:
    """Draw one block for each run, with its name and its hit rate over all rows above a row for each kind.

    table: the columns of `figure`, and run; the first run is highlighted. overall: run → hit rate of all its rows. Raise
    InputError for missing columns.
    """
    drawing.require_columns("argument_kinds", table, ("run", *COLUMNS))
    first = table["run"].iloc[0]
    rows = forest_plot.rows_in_blocks(
        table,
        "run",
        lambda row: _row(row, theme.CHOSEN if row.run == first else theme.BASELINE),
        lambda part: f"all rows {overall[part['run'].iloc[0]]:.2f}",
    )
    return forest_plot.draw_forest(rows, [], "share of rows that are hits")


def _row(row: Any, colour: str = theme.CHOSEN) -> Row:
    words = "no labels" if pd.isna(row.estimate) else estimate_text(*ends_of(row), ".2f")
    size = f"{row.n:,} texts ({row.share:.0%})"
    return Row(row.kind, ends_of(row), words, (row.kind, size, f"{words} of {row.rows:,} rows"), colour=colour, after=f"  {size}")
