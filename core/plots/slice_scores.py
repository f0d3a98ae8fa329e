"""Where the score comes from: each slice of the rows with its own score."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme

COLUMNS = ("slice", "n", "n_labelled", "estimate", "low", "high", "cost")


def figure(table: pd.DataFrame, overall: float, control: float, title: str = "AUROC inside the slice") -> go.Figure:
    """One line of the plot a slice, in the order given, beside chance and the run's value over all rows.

    table: slice, n, n_labelled, estimate, low, high, cost (see `core.stats.slices`); NaN where there is none, and a
    slice without an estimate says why. overall: the run's own value in the same metric; control: the count-only
    control's (NaN draws none). title: of the value axis.
    """
    drawing.require_columns("slices", table, COLUMNS)
    rows = [_row(row) for row in table[list(COLUMNS)].itertuples(index=False)]
    lines = [
        *drawing.reference_lines({"count-only": control}),
        drawing.Line(overall, f"all rows {overall:.3f}", theme.CHOSEN),
    ]
    return forest_plot.draw(pd.DataFrame(rows), lines, title)


def _row(row: Any) -> dict[str, object]:
    rows = drawing.rows_text(row.n_labelled) + (f" of {row.n:,.0f}" if row.n > row.n_labelled else "")
    told = drawing.with_interval(row.estimate, row.low, row.high)
    if pd.isna(row.estimate):
        told = "one class only" if row.n_labelled else "no labels"
    labelled = f"{row.n:,.0f} rows, {row.n_labelled:,.0f} with a label"
    cost = f"costs the whole {drawing.number(row.cost, '+.4f')}"
    return {
        "name": f"{drawing.plain(row.slice, forest_plot.NAME_LENGTH)}  {rows}",
        "words": told,
        "hover": f"{drawing.plain(row.slice)}<br>{told}<br>{labelled}<br>{cost}",
        "colour": theme.CHOSEN,
        "symbol": "circle",
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
    }
