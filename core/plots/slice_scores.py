"""Figure: the score of each slice of the rows."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row, ends_of
from core.texts import NO_BIOLOGY, estimate_text, number_text

COLUMNS = ("slice", "n", "n_labelled", "estimate", "low", "high", "cost")


def figure(
    table: pd.DataFrame,
    overall: float | None,
    control: float | None,
    title: str = "AUROC inside the slice",
    most: int | None = None,
) -> go.Figure:
    """Draw one row of the forest plot for each slice, in the given order, the costliest in bold, with lines at chance and at
    the run's score over all rows.

    table: slice, n, n_labelled, estimate, low, high, cost (see `core.stats.slices`), NaN if unknown; a slice without an
    estimate shows the reason. overall: the run's value in the same metric; control: the no-biology baseline's value; None or
    NaN for no line. title: of the value axis, or DE, DIR, mean. most: how many are drawn; None: all.
    """
    drawing.require_columns("slice_scores", table, COLUMNS)
    costliest = table["cost"].astype(float).max()
    rows = [_row(row, is_costliest=bool(row.cost == costliest)) for row in table.head(most or len(table)).itertuples()]
    lines = [*drawing.reference_lines({} if control is None else {NO_BIOLOGY: control})]
    if overall is not None:
        lines.append(drawing.Line(overall, f"all rows {overall:.3f}", theme.CHOSEN))
    return forest_plot.draw_forest(rows, lines, drawing.METRICS.get(title, title))


def _row(row: Any, *, is_costliest: bool) -> Row:
    rows = (f"{row.n_labelled:,.0f} of " if row.n > row.n_labelled else "") + drawing.rows_text(row.n)
    words = estimate_text(*ends_of(row))
    if pd.isna(row.estimate):
        words = "one class only" if row.n_labelled else "no labels"
    labelled = f"{row.n:,.0f} rows, {row.n_labelled:,.0f} with a label"
    hover = (str(row.slice), words, labelled, f"cost for the whole {number_text(row.cost, '+.4f')}")
    return Row(str(row.slice), ends_of(row), words, hover, is_costliest, theme.CHOSEN, after=f"  {rows}")
