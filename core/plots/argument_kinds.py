"""Figure: the hit rate of rows with each kind of argument, compared with the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
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
    return forest_plot.draw_forest(pd.DataFrame(rows), [line], "share of rows that are hits")


def runs_figure(table: pd.DataFrame, overall: Mapping[str, float]) -> go.Figure:
    """Draw one block for each run, with its name and its hit rate over all rows above a row for each kind.

    table: the columns of `figure`, and run; the first run is highlighted. overall: run → hit rate of all its rows. Raise
    InputError for missing columns.
    """
    drawing.require_columns("argument_kinds", table, ("run", *COLUMNS))
    rows: list[dict[str, object]] = []
    for place, (run, part) in enumerate(table.groupby("run", sort=False)):
        rows.append(forest_plot.heading_row(str(run)) | {"words": f"all rows {overall[str(run)]:.2f}"})
        kinds = [_row(row) for row in part[list(COLUMNS)].itertuples(index=False)]
        rows += [kind | ({} if place == 0 else {"colour": theme.BASELINE}) for kind in kinds]
    return forest_plot.draw_forest(pd.DataFrame(rows), [], "share of rows that are hits")


def _row(row: Any) -> dict[str, object]:
    words = "no labels" if pd.isna(row.estimate) else estimate_text(row.estimate, row.low, row.high, ".2f")
    size = f"{row.n:,} texts ({row.share:.0%})"
    return {
        "name": f"{drawing.escape(row.kind, forest_plot.NAME_LENGTH)}  {size}",
        "words": words,
        "hover": f"{drawing.escape(row.kind)}<br>{size}<br>{words} of {row.rows:,} rows",
        "colour": theme.CHOSEN,
        "symbol": "circle",
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
    }
