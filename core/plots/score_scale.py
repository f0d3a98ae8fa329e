"""Figure: scores between no biology (0) and a replicate of the screen (1)."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot
from core.texts import NO_BIOLOGY, estimate_text, number_text

COLUMNS = ("name", "estimate", "low", "high", "score", "floor", "ceiling", "n", "chosen")


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one row of the forest plot for each run and question, with lines at the ends of the scale.

    table: name; estimate, low, high (on the scale, NaN if there is none); score, floor, ceiling (AUROCs); n; chosen. Raise
    InputError for missing columns.
    """
    drawing.require_columns("score scale", table, COLUMNS)
    rows = pd.DataFrame([_row(row) for row in table[list(COLUMNS)].itertuples(index=False)])
    ends = [drawing.Line(0.0, NO_BIOLOGY, dash="dot"), drawing.Line(1.0, "replicate", dash="dot")]
    return forest_plot.draw_forest(rows, ends, "score on the scale to the replicate")


def _row(row: Any) -> dict[str, object]:
    ends = row.estimate, row.low, row.high
    words = estimate_text(*ends, ".2f") if row.estimate == row.estimate else "no scale"
    aurocs = ", ".join(number_text(value) for value in (row.score, row.floor, row.ceiling))
    hover = (
        f"{drawing.escape(row.name)}: {words}<br>AUROC of run, {NO_BIOLOGY}, replicate: {aurocs}<br>{drawing.rows_text(row.n)}"
    )
    return forest_plot.dot_row(row.name, words, hover, ends, chosen=row.chosen)
