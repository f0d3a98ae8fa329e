"""Figure: scores between no biology (0) and a replicate of the screen (1)."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot
from core.plots.forest_plot import Row, ends_of
from core.texts import NO_BIOLOGY, estimate_text, number_text

COLUMNS = ("name", "estimate", "low", "high", "score", "floor", "ceiling", "n", "chosen")


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one row of the forest plot for each run and question, with lines at the ends of the scale.

    table: name; estimate, low, high (on the scale, NaN if there is none); score, floor, ceiling (AUROCs); n; chosen. Raise
    InputError for missing columns.
    """
    drawing.require_columns("score scale", table, COLUMNS)
    rows = [_row(row) for row in table.itertuples()]
    ends = [drawing.Line(0.0, NO_BIOLOGY, dash="dot"), drawing.Line(1.0, "replicate", dash="dot")]
    return forest_plot.draw_forest(rows, ends, "score on the scale to the replicate")


def _row(row: Any) -> Row:
    words = "no scale" if pd.isna(row.estimate) else estimate_text(*ends_of(row), ".2f")
    aurocs = ", ".join(number_text(value) for value in (row.score, row.floor, row.ceiling))
    hover = (f"{row.name}: {words}", f"AUROC of run, {NO_BIOLOGY}, replicate: {aurocs}", drawing.rows_text(row.n))
    return Row(row.name, ends_of(row), words, hover, row.chosen)
