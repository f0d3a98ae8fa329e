"""Figure: the rate of an answer to a rubric by role: from the judge, and corrected by labels."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row, ends_of
from core.texts import estimate_text

_REACH = (0.0, 0.1)  # always visible: otherwise every tick of an axis for rates near 0 would read 0%
COLUMNS = ("role", "kind", "n", "estimate", "low", "high")
# Kind of rate → colour, name, and the meaning of n.
KINDS = {
    "raw": (theme.BASELINE, "judge, as read", "texts read"),
    "corrected": (theme.CHOSEN, "corrected", "labels"),
}


def figure(table: pd.DataFrame, answer: str) -> go.Figure:
    """Draw one block of the forest plot for each role, with its name above a row for each kind of rate.

    table: role, kind (of `KINDS`), n, estimate, low, high (no dot if NaN). answer: the answer whose rate is shown. Raise
    InputError for missing columns and other kinds.
    """
    drawing.require_columns("rubric_rates", table, COLUMNS)
    drawing.require_values("rubric_rates", table, "kind", KINDS)
    rows = forest_plot.rows_in_blocks(table, "role", _row)
    chart = forest_plot.draw_forest(rows, [], f"share of texts: {drawing.escape(answer)}", reach=_REACH)
    return chart.update_xaxes(tickformat=".0%")


def _row(row: Any) -> Row:
    colour, name, counted = KINDS[row.kind]
    words, n = estimate_text(*ends_of(row), ".1%"), f"{row.n:,} {counted}"
    return Row(name, ends_of(row), f"{words}  {n}", (f"{row.role}, {name}", words, n), colour=colour)
