"""Figure: differences between rows where the answer to a rubric is yes and rows where it is no."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row, ends_of
from core.texts import estimate_text, quantity_text

COLUMNS = ("rubric", "measure", "n_yes", "n_no", "estimate", "low", "high", "p_holm")


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one block of the forest plot for each rubric, with its name above a row for each measure, and the line of no
    difference.

    table: rubric, measure, n_yes and n_no (rows), estimate, low, high, p_holm (NaN if there is none). A difference that is
    significant after Holm's correction is drawn in the chosen run's colour. Raise InputError for missing columns.
    """
    drawing.require_columns("rubric_worth", table, COLUMNS)
    rows = forest_plot.rows_in_blocks(table, "rubric", _row, lambda part: _counts(next(part.itertuples())))
    lines = [drawing.Line(0.0, "no difference", dash="dot")]
    return forest_plot.draw_forest(rows, lines, "rows with yes minus rows with no")


def _row(row: Any) -> Row:
    words, p = estimate_text(*ends_of(row), "+.3f"), f"Holm p {quantity_text(row.p_holm)}"
    colour = theme.CHOSEN if row.p_holm < 0.05 else None
    return Row(row.measure, ends_of(row), f"{words}  {p}", (f"{row.rubric}, {row.measure}", words, p), colour=colour)


def _counts(row: Any) -> str:
    return f"{row.n_yes:,} rows yes, {row.n_no:,} no"
