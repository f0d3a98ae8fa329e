"""Figure: scores of simple methods by gene on a benchmark, with published numbers of similar methods."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.texts import estimate_text, number_text

COLUMNS = ("name", "about", "estimate", "low", "high", "genes", "reads", "published")
_PUBLISHED_SYMBOL = "diamond-open"


def figure(table: pd.DataFrame, title: str) -> go.Figure:
    """Draw one row of the forest plot for each baseline, in the given order, with the line of chance; diamonds are published
    numbers.

    table: name, about, estimate, low, high of the macro AUROC, genes (with both classes), reads (whether it reads knowledge),
    published (NaN without a published number). title: of the value axis. Raise InputError for missing columns.
    """
    drawing.require_columns("baseline_scores", table, COLUMNS)
    rows = pd.DataFrame([_row(row) for row in table[list(COLUMNS)].itertuples(index=False)])
    published = table["published"].reset_index(drop=True)
    known = published[published.notna()]
    figure = forest_plot.draw_forest(rows, drawing.reference_lines({}), title, reach=known.tolist())
    figure.add_scatter(
        x=known,
        y=known.index,
        mode="markers",
        marker={"color": theme.WARNING, "size": 11, "symbol": _PUBLISHED_SYMBOL, "line": {"width": 2}},
        hovertext=[f"published: {number_text(value, '.2f')}" for value in known],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    return figure


def _row(row: Any) -> dict[str, object]:
    words = estimate_text(row.estimate, row.low, row.high)
    published = "" if math.isnan(row.published) else f"<br>published: {number_text(row.published, '.2f')}"
    genes = f"{row.genes:,} genes with both classes"
    return {
        "name": drawing.escape(row.name, forest_plot.NAME_LENGTH),
        "words": words if math.isnan(row.published) else f"{words} ◇ {number_text(row.published, '.2f')}",
        "hover": f"{drawing.escape(row.name)}<br>{drawing.escape(row.about)}<br>{words}<br>{genes}{published}",
        "colour": theme.CHOSEN if row.reads else theme.BASELINE,
        "symbol": "circle",
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
    }
