"""Figure: the change from an arm of a benchmark, by every unit, with its placebos and its noise floor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
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
    blocks: list[list[dict[str, object]]] = [
        [_heading(str(metric)), *map(_row, part.itertuples())] for metric, part in table.groupby("metric", sort=False)
    ]
    lines: Sequence[drawing.Line] = (
        drawing.Line(0.0, "no change", dash="dot"),
        drawing.Line(smallest_effect, f"smallest effect {smallest_effect:+g}"),
    )
    return forest_plot.draw_forest(pd.DataFrame([row for block in blocks for row in block]), lines, "change of the AUROC")


def _heading(metric: str) -> dict[str, object]:
    empty = {"words": "", "estimate": np.nan, "low": np.nan, "high": np.nan, "hover": "", "symbol": "circle"}
    return {"name": f"<b>{drawing.escape(metric)}</b>", "colour": theme.CHOSEN, **empty}


def _row(row: Any) -> dict[str, object]:
    noise = row.kind == "noise"
    words = f"±{number_text(row.high)}" if noise else estimate_text(row.estimate, row.low, row.high, "+.3f")
    return {
        "name": drawing.escape(row.name),
        "words": words,
        "hover": f"{drawing.escape(row.metric)}, {drawing.escape(row.name)}<br>{words}<br>{drawing.rows_text(row.n, row.metric)}",
        "colour": _COLOURS[row.kind],
        "symbol": _SYMBOLS[row.kind],
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
    }
