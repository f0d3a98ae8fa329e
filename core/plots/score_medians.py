"""Figure: the middle half of a score's values for each label, in several runs."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row
from core.plots.score_histograms import KINDS
from core.texts import estimate_text

COLUMNS = ("run", "label", "median", "low", "high", "n")


def figure(table: pd.DataFrame, score: str) -> go.Figure:
    """Draw one row of the forest plot for each label of each run: the median, with a bar from the first to the third quartile.

    table: run, label ("up or down", "none", "up", "down"), median, low and high (quartiles), n. score: the value's name.
    """
    drawing.require_columns("score_medians", table, COLUMNS)
    drawing.require_values("score_medians", table, "label", KINDS)
    return forest_plot.draw_forest(forest_plot.rows_in_blocks(table, "run", _row), [], score)


def _row(row: Any) -> Row:
    kind, ends, n = KINDS[row.label], (row.median, row.low, row.high), drawing.rows_text(row.n)
    words = estimate_text(*ends, ".2f")
    name, hover = f"{theme.LABEL_SIGNS[kind]} {row.label}, {n}", (row.run, f"{row.label}: median {words}", n)
    return Row(name, ends, words, hover, colour=theme.LABEL_COLOURS[kind])
