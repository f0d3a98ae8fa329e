"""Figure: the scores of all runs, measured here or recorded from a leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.texts import estimate_text

COLUMNS = ("run", "kind", "score", "low", "high", "n", "chosen")
_SYMBOLS = {"here": "circle", "public": "diamond", "baseline": "square"}
_WORDS = {"here": "measured here", "public": "public score", "baseline": "without biology"}


def figure(table: pd.DataFrame, lines: Mapping[str, float], metric: str = "mean") -> go.Figure:
    """Draw one row of the forest plot for each run, in the given order. Circles are scores measured here, diamonds public scores.

    table: run, kind ("public" or "here"), score, low and high (of a public score: its noise), n (each NaN if unknown), chosen.
    lines: controls by name, such as {"no-biology baseline": 0.62}; chance is always drawn. metric: DE, DIR, mean, or the name of
    another score. Raise InputError for missing columns and unknown kinds.
    """
    drawing.require_columns("ladder", table, COLUMNS)
    drawing.require_values("ladder", table, "kind", _SYMBOLS)
    rows = [_row(row, metric) for row in table[list(COLUMNS)].itertuples(index=False)]
    return forest_plot.draw_forest(pd.DataFrame(rows), drawing.reference_lines(lines), drawing.METRICS.get(metric, metric))


def grouped_figure(table: pd.DataFrame, metric: str = "mean") -> go.Figure:
    """Draw several groups of runs, each with its name above it.

    Squares are baselines without biology on the rows of the group. table: the columns of `figure`, and group; rows are drawn in
    this order. kind may also be "baseline".
    """
    drawing.require_columns("ladder", table, (*COLUMNS, "group"))
    drawing.require_values("ladder", table, "kind", _SYMBOLS)
    rows: list[dict[str, object]] = []
    for group, part in table.groupby("group", sort=False):
        rows.append(forest_plot.heading_row(str(group)))
        drawn = [_row(row, metric) for row in part[list(COLUMNS)].itertuples(index=False)]
        rows += [{**row, "words": str(row["words"]).removesuffix(" here")} for row in drawn]
    return forest_plot.draw_forest(
        pd.DataFrame(rows), drawing.reference_lines({}), drawing.METRICS.get(metric, metric), row_px=22
    )


def _row(row: Any, metric: str) -> dict[str, object]:
    interval = estimate_text(row.score, row.low, row.high)
    name = drawing.escape(row.run, forest_plot.NAME_LENGTH)
    return {
        "name": f"<b>{name}</b>" if row.chosen else name,
        "words": f"{interval} {row.kind}".removesuffix(" baseline"),
        "hover": f"{drawing.escape(row.run)}<br>{_WORDS[row.kind]} {interval}<br>{drawing.rows_text(row.n, metric)}",
        "colour": theme.CHOSEN if row.chosen else theme.WARNING if row.kind == "baseline" else theme.BASELINE,
        "symbol": _SYMBOLS[row.kind],
        "estimate": row.score,
        "low": row.low,
        "high": row.high,
    }
