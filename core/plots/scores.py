"""Figure: scores with their intervals, such as of runs, of the slices of a run, or of baselines
without biology."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from core.base.texts import NO_BIOLOGY, estimate_text, number_text
from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Forest, Row, ends_of

_OPTIONAL: Final[dict[str, Any]] = {"kind": "", "about": "", "cost": np.nan, "n_labelled": np.nan}
_SYMBOLS: Final = {"": "circle", "here": "circle", "public": "diamond", "baseline": "square"}
_WORDS: Final = {
    "": "",
    "here": "measured here",
    "public": "public score",
    "baseline": "without biology",
}


def figure(
    table: pd.DataFrame,
    title: str,
    *,
    by: str = "",
    names: str = "name",
    most: int | None = None,
    overall: float | None = None,
    control: float | None = None,
    has_chance: bool = True,
) -> Forest:
    """Return one row of the forest plot for each score, in the given order, with the line of
    chance.

    Diamonds are public scores, squares baselines without biology. table: name, estimate, low, high,
    n (NaN if unknown; a score without an estimate shows the reason), and optionally kind (here,
    public or baseline), chosen (in bold), about (a line of the hover), cost (of a slice; the
    costliest is in bold) and n_labelled. title: of the value axis, or DE, DIR, mean. by: a column
    of headings; names: of the names. most: how many are drawn. overall, control: the scores of all
    rows and of the no-biology baseline, as lines.
    """
    rows = table.head(most or len(table)).assign(name=table[names])
    rows = rows.assign(
        **{column: rows.get(column, default) for column, default in _OPTIONAL.items()}
    )
    if "chosen" not in rows:
        rows = rows.assign(chosen=rows["cost"] == rows["cost"].max())
    shown = (
        forest_plot.rows_in_blocks(rows, by, lambda row: _row(row, title))
        if by
        else [_row(row, title) for row in rows.itertuples()]
    )
    lines = (
        drawing.reference_lines({} if control is None else {NO_BIOLOGY: control})
        if has_chance
        else []
    )
    if overall is not None:
        lines.append(drawing.Line(overall, f"all rows {overall:.3f}", theme.CHOSEN))
    return Forest(shown, lines, drawing.METRICS.get(title, title))


def _row(row: Any, metric: str) -> Row:
    words, rows = (
        estimate_text(*ends_of(row)),
        "" if np.isnan(row.n) else drawing.rows_text(row.n, metric),
    )
    if not np.isnan(row.n_labelled):
        rows = f"{row.n:,.0f} rows, {row.n_labelled:,.0f} with a label"
    if np.isnan(row.estimate):
        words = "one class only" if row.n_labelled else "no labels"
    elif row.low == row.estimate == row.high:
        words = f"{row.estimate:.3f}, all rows tied"
    cost = "" if np.isnan(row.cost) else f"cost for the whole {number_text(row.cost, '+.4f')}"
    hover = [
        *filter(None, (str(row.name), row.about, f"{_WORDS[row.kind]} {words}".strip(), rows, cost))
    ]
    if row.kind == "public":
        words = f"{words} public"
    colour = theme.WARNING if row.kind == "baseline" else None
    return Row(
        str(row.name), ends_of(row), words, hover, bool(row.chosen), colour, _SYMBOLS[row.kind]
    )
