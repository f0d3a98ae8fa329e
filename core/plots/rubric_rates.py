"""Figure: the rate of an answer to a rubric by role: from the judge, and corrected by labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
    return _draw(forest_plot.rows_in_blocks(table, "role", _row), answer)


def runs_figure(table: pd.DataFrame, answer: str) -> go.Figure:
    """Draw one block for each role with a row for each run: its corrected rate if there are enough labels, otherwise the
    model's rate.

    table: the columns of `figure`, and run; one row for each role and run; the first run is highlighted. Raise the errors of
    `figure`.
    """
    drawing.require_columns("rubric_rates", table, ("run", *COLUMNS))
    drawing.require_values("rubric_rates", table, "kind", KINDS)
    first = table["run"].iloc[0]
    return _draw(forest_plot.rows_in_blocks(table, "role", lambda row: _row_of_run(row, is_first=row.run == first)), answer)


def _draw(rows: Sequence[Row], answer: str) -> go.Figure:
    chart = forest_plot.draw_forest(rows, [], f"share of texts: {drawing.escape(answer)}", reach=_REACH)
    return chart.update_xaxes(tickformat=".0%")


def _row(row: Any) -> Row:
    colour, name, counted = KINDS[row.kind]
    words, n = estimate_text(*ends_of(row), ".1%"), f"{row.n:,} {counted}"
    return Row(name, ends_of(row), f"{words}  {n}", (f"{row.role}, {name}", words, n), colour=colour)


def _row_of_run(row: Any, *, is_first: bool) -> Row:
    own = _row(row)
    return replace(own, name=row.run, after=f", {own.name}", is_bold=is_first, colour=None)
