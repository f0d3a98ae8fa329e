"""Figure: the paired differences between two runs, with every interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot
from core.plots.forest_plot import Row, ends_of
from core.texts import estimate_text

_JUDGED = "perturbation and gene"  # the unit that decides: only it is drawn in colour
_NAMES = {
    "row": "by rows alone",
    "perturbation": "allowing for shared perturbations",
    "gene": "allowing for shared genes",
    "perturbation and gene": "allowing for shared perturbations and genes",
}


def figure(table: pd.DataFrame, detectable: float = np.nan) -> go.Figure:
    """Draw one row of the forest plot for each difference, grouped by metric, with the line of no change.

    table: metric, unit (as in `_NAMES`), estimate, low, high (NaN if there is none), n. detectable: the smallest change of the
    mean that such runs can detect, in AUROC; NaN: unknown.
    """
    words = "" if np.isnan(detectable) else f"detectable ±{detectable:.3f}"
    rows = forest_plot.rows_in_blocks(table, "metric", _row, lambda part: words if part["metric"].iloc[0] == "mean" else "")
    return forest_plot.draw_forest(rows, [drawing.Line(0.0, "no change", dash="dot")], "change of the AUROC")


def _row(row: Any) -> Row:
    interval, name = estimate_text(*ends_of(row), "+.3f"), _NAMES[row.unit]
    hover = (f"{row.metric}, {name}", interval, drawing.rows_text(row.n, row.metric))
    return Row(name, ends_of(row), interval, hover, row.unit == _JUDGED, longest=len(name))
