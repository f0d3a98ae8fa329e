"""Figure: scores of simple methods by gene on a benchmark, with published numbers of similar methods."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row, ends_of
from core.texts import estimate_text, number_text

COLUMNS = ("question", "name", "about", "estimate", "low", "high", "genes", "reads", "published")
_PUBLISHED_SYMBOL = "diamond-open"


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one row of the forest plot for each baseline, a block for each question, in the given order, with the line of chance;
    diamonds are published numbers.

    table: question, name, about, estimate, low, high of the macro AUROC, genes (with both classes), reads (whether it reads
    knowledge), published (NaN without a published number). Raise InputError for missing columns.
    """
    drawing.require_columns("baseline_scores", table, COLUMNS)
    rows = forest_plot.rows_in_blocks(table, "question", _row)
    headings = pd.factorize(table["question"])[0] + 1
    published = table["published"].set_axis(np.arange(len(table)) + headings)
    known = published[published.notna()]
    title = "macro AUROC by gene" + ("; ◇ as published" if len(known) else "")
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


def _row(row: Any) -> Row:
    words, has_published = estimate_text(*ends_of(row)), not math.isnan(row.published)
    published = number_text(row.published, ".2f")
    hover = [row.name, row.about, words, f"{row.genes:,} genes with both classes"]
    hover += [f"published: {published}"] if has_published else []
    colour = theme.CHOSEN if row.reads else None
    return Row(row.name, ends_of(row), f"{words} ◇ {published}" if has_published else words, hover, colour=colour)
