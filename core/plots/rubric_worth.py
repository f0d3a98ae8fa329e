"""Figure: differences between rows where the answer to a rubric is yes and rows where it is no."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.texts import estimate_text, quantity_text

COLUMNS = ("rubric", "measure", "n_yes", "n_no", "estimate", "low", "high", "p_holm")


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one block of the forest plot for each rubric, with its name above a row for each measure, and the line of no
    difference.

    table: rubric, measure, n_yes and n_no (rows), estimate, low, high, p_holm (NaN if there is none). A difference that is
    significant after Holm's correction is drawn in the chosen run's colour. Raise InputError for missing columns.
    """
    drawing.require_columns("rubric_worth", table, COLUMNS)
    rows: list[dict[str, object]] = []
    for rubric, part in table.groupby("rubric", sort=False):
        n_yes, n_no = part["n_yes"].iloc[0], part["n_no"].iloc[0]
        empty = {"estimate": np.nan, "low": np.nan, "high": np.nan, "hover": "", "colour": theme.BASELINE, "symbol": "circle"}
        name = drawing.escape(rubric, forest_plot.NAME_LENGTH)
        rows.append({"name": f"<b>{name}</b>", "words": f"{n_yes:,} rows yes, {n_no:,} no", **empty})
        rows += [_row(row) for row in part.itertuples()]
    return _draw(rows)


def runs_figure(table: pd.DataFrame) -> go.Figure:
    """Draw one block for each rubric and measure with a row for each run.

    table: the columns of `figure`, and run; the first run is highlighted. Raise InputError for missing columns.
    """
    drawing.require_columns("rubric_worth", table, ("run", *COLUMNS))
    first = table["run"].iloc[0]
    rows: list[dict[str, object]] = []
    for (rubric, measure), part in table.groupby(["rubric", "measure"], sort=False):
        rows.append(forest_plot.heading_row(f"{rubric}: {measure}"))
        for row in part.itertuples():
            name = drawing.escape(row.run, forest_plot.NAME_LENGTH)
            own = (
                {"name": f"<b>{name}</b>", "colour": theme.CHOSEN}
                if row.run == first
                else {"name": name, "colour": theme.BASELINE}
            )
            drawn = _row(row)
            hover = f"{drawing.escape(row.run)}<br>{drawn['hover']}<br>{row.n_yes:,} rows yes, {row.n_no:,} no"
            rows.append(drawn | own | {"hover": hover})
    return _draw(rows)


def _draw(rows: list[dict[str, object]]) -> go.Figure:
    lines = [drawing.Line(0.0, "no difference", dash="dot")]
    return forest_plot.draw_forest(pd.DataFrame(rows), lines, "rows with yes minus rows with no")


def _row(row: Any) -> dict[str, object]:
    words = estimate_text(row.estimate, row.low, row.high, "+.3f")
    p = f"Holm p {quantity_text(row.p_holm)}"
    return {
        "name": drawing.escape(row.measure),
        "words": f"{words}  {p}",
        "hover": f"{drawing.escape(row.rubric)}, {drawing.escape(row.measure)}<br>{words}<br>{p}",
        "colour": theme.CHOSEN if row.p_holm < 0.05 else theme.BASELINE,
        "symbol": "circle",
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
    }
