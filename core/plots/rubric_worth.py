"""Figure: differences between rows where the answer to a rubric is yes and rows where it is no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
    return _draw(forest_plot.rows_in_blocks(table, "rubric", _row, lambda part: _counts(next(part.itertuples()))))


def runs_figure(table: pd.DataFrame) -> go.Figure:
    """Draw one block for each rubric and measure with a row for each run.

    table: the columns of `figure`, and run; the first run is highlighted. Raise InputError for missing columns.
    """
    drawing.require_columns("rubric_worth", table, ("run", *COLUMNS))
    first = table["run"].iloc[0]
    named = table.assign(block=table["rubric"] + ": " + table["measure"])
    return _draw(forest_plot.rows_in_blocks(named, "block", lambda row: _row_of_run(row, is_first=row.run == first)))


def _draw(rows: Sequence[Row]) -> go.Figure:
    lines = [drawing.Line(0.0, "no difference", dash="dot")]
    return forest_plot.draw_forest(rows, lines, "rows with yes minus rows with no")


def _row(row: Any) -> Row:
    words, p = estimate_text(*ends_of(row), "+.3f"), f"Holm p {quantity_text(row.p_holm)}"
    colour = theme.CHOSEN if row.p_holm < 0.05 else None
    return Row(row.measure, ends_of(row), f"{words}  {p}", (f"{row.rubric}, {row.measure}", words, p), colour=colour)


def _row_of_run(row: Any, *, is_first: bool) -> Row:
    own = _row(row)
    return replace(own, name=row.run, hover=(row.run, *own.hover, _counts(row)), is_bold=is_first, colour=None)


def _counts(row: Any) -> str:
    return f"{row.n_yes:,} rows yes, {row.n_no:,} no"
