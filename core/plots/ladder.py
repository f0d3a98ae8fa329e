"""Figure: the scores of all runs, measured here or recorded from a leaderboard."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row
from core.stats.intervals import Interval
from core.texts import estimate_text

COLUMNS = ("run", "kind", "score", "low", "high", "n", "chosen")
_SYMBOLS = {"here": "circle", "public": "diamond", "baseline": "square"}
_WORDS = {"here": "measured here", "public": "public score", "baseline": "without biology"}


def numbers(shown: Interval) -> dict[str, object]:
    """Return score, low, high and n of a table."""
    return {"score": shown.estimate, "low": shown.low, "high": shown.high, "n": shown.n}


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one row of the forest plot for each run, in the given order. Circles are scores measured here, diamonds public scores.

    table: run, kind ("public" or "here"), score, low and high (of a public score: its noise), n (each NaN if unknown), chosen.
    Chance is always drawn. Raise InputError for missing columns and unknown kinds.
    """
    drawing.require_columns("ladder", table, COLUMNS)
    drawing.require_values("ladder", table, "kind", _SYMBOLS)
    rows = [_row(row, "mean", str(row.kind)) for row in table.itertuples()]
    return forest_plot.draw_forest(rows, drawing.reference_lines({}), drawing.METRICS["mean"])


def grouped_figure(table: pd.DataFrame, metric: str = "mean") -> go.Figure:
    """Draw several groups of runs, each with its name above it.

    Squares are baselines without biology on the rows of the group. table: the columns of `figure`, and group; rows are drawn in
    this order. kind may also be "baseline". metric: DE, DIR, mean, or the name of another score.
    """
    drawing.require_columns("ladder", table, (*COLUMNS, "group"))
    drawing.require_values("ladder", table, "kind", _SYMBOLS)
    rows = forest_plot.rows_in_blocks(table, "group", lambda row: _row(row, metric, "public" if row.kind == "public" else ""))
    title = drawing.METRICS.get(metric, metric)
    return forest_plot.draw_forest(rows, drawing.reference_lines({}), title, row_px=22)


def _row(row: Any, metric: str, kind: str) -> Row:
    """kind: what stands behind the interval."""
    ends = row.score, row.low, row.high
    hover = (row.run, f"{_WORDS[row.kind]} {estimate_text(*ends)}", drawing.rows_text(row.n, metric))
    colour = theme.WARNING if row.kind == "baseline" and not row.chosen else None
    return Row(row.run, ends, f"{estimate_text(*ends)} {kind}".rstrip(), hover, row.chosen, colour, _SYMBOLS[row.kind])
