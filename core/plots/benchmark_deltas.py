"""Figure: the change from an arm of a benchmark, by every unit, with its placebos and its noise floor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row, ends_of
from core.texts import estimate_text, number_text

COLUMNS = ("metric", "kind", "name", "estimate", "low", "high", "n")
_COLOURS = {"change": theme.CHOSEN, "placebo": theme.BASELINE, "noise": theme.WARNING}
_SYMBOLS = {"change": "circle", "placebo": "diamond", "noise": "square"}


def figure(table: pd.DataFrame, smallest_effect: float) -> go.Figure:
    """Draw one row of the forest plot for each number, grouped by metric, with lines at no change and at the smallest relevant
    effect.

    table: metric (a heading), kind (change, placebo, or noise: the arm compared with itself, as an interval around 0), name,
    estimate, low, high (NaN if there is none), n. smallest_effect: in AUROC.
    """
    drawing.require_columns("benchmark_deltas", table, COLUMNS)
    drawing.require_values("benchmark_deltas", table, "kind", _COLOURS)
    rows = forest_plot.rows_in_blocks(table, "metric", _row)
    lines: Sequence[drawing.Line] = (
        drawing.Line(0.0, "no change", dash="dot"),
        drawing.Line(smallest_effect, f"smallest effect {smallest_effect:+g}"),
    )
    return forest_plot.draw_forest(rows, lines, "change of the AUROC")


def _row(row: Any) -> Row:
    words = f"±{number_text(row.high)}" if row.kind == "noise" else estimate_text(*ends_of(row), "+.3f")
    hover = (f"{row.metric}, {row.name}", words, drawing.rows_text(row.n, row.metric))
    colour, symbol = _COLOURS[row.kind], _SYMBOLS[row.kind]
    return Row(row.name, ends_of(row), words, hover, colour=colour, symbol=symbol, longest=len(row.name))
