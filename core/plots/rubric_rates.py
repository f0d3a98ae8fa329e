"""Figure: the rate of an answer to a rubric by role: from the model, from labels alone, and corrected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.texts import estimate_text

_REACH = (0.0, 0.1)  # always visible: otherwise every tick of an axis for rates near 0 would read 0%
COLUMNS = ("role", "kind", "n", "estimate", "low", "high")
# Kind of rate → colour, name, and the meaning of n.
KINDS = {
    "raw": (theme.BASELINE, "judge, as read", "texts read"),
    "labels": (theme.WARNING, "labels alone", "labels"),
    "corrected": (theme.CHOSEN, "corrected", "labels"),
}


def figure(table: pd.DataFrame, answer: str) -> go.Figure:
    """Draw one block of the forest plot for each role, with its name above a row for each kind of rate.

    table: role, kind (of `KINDS`), n, estimate, low, high (no dot if NaN). answer: the answer whose rate is shown. Raise
    InputError for missing columns and other kinds.
    """
    drawing.require_columns("rubric_rates", table, COLUMNS)
    drawing.require_values("rubric_rates", table, "kind", KINDS)
    rows: list[dict[str, object]] = []
    for role, part in table.groupby("role", sort=False):
        empty = {"estimate": np.nan, "low": np.nan, "high": np.nan, "hover": "", "colour": theme.CHOSEN, "symbol": "circle"}
        rows.append({"name": f"<b>{drawing.escape(role)}</b>", "words": "", **empty})
        rows += [_row(row) for row in part.itertuples()]
    chart = forest_plot.draw_forest(pd.DataFrame(rows), [], f"share of texts: {drawing.escape(answer)}", reach=_REACH)
    chart.update_xaxes(tickformat=".0%")
    return chart


def runs_figure(table: pd.DataFrame, answer: str) -> go.Figure:
    """Draw one block for each role with a row for each run: its corrected rate if there are enough labels, otherwise the
    model's rate.

    table: the columns of `figure`, and run; one row for each role and run; the first run is highlighted. Raise the errors of
    `figure`.
    """
    drawing.require_columns("rubric_rates", table, ("run", *COLUMNS))
    drawing.require_values("rubric_rates", table, "kind", KINDS)
    first = table["run"].iloc[0]
    rows: list[dict[str, object]] = []
    for role, part in table.groupby("role", sort=False):
        rows.append(forest_plot.heading_row(str(role)))
        for row in part.itertuples():
            name = drawing.escape(row.run, forest_plot.NAME_LENGTH)
            colour = theme.CHOSEN if row.run == first else theme.BASELINE
            kind = f", {KINDS[str(row.kind)][1]}"
            rows.append(_row(row) | {"name": f"<b>{name}</b>{kind}" if row.run == first else f"{name}{kind}", "colour": colour})
    chart = forest_plot.draw_forest(pd.DataFrame(rows), [], f"share of texts: {drawing.escape(answer)}", reach=_REACH)
    chart.update_xaxes(tickformat=".0%")
    return chart


def _row(row: Any) -> dict[str, object]:
    colour, name, counted = KINDS[row.kind]
    words = estimate_text(row.estimate, row.low, row.high, ".1%")
    n = f"{row.n:,} {counted}"
    return {
        "name": name,
        "words": f"{words}  {n}" if row.estimate == row.estimate else f"–  {n}",
        "hover": f"{drawing.escape(row.role)}, {name}<br>{words}<br>{n}",
        "colour": colour,
        "symbol": "circle",
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
    }
