"""Figure: the rows whose ranks move most from one run to another."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.errors import InputError
from core.plots import drawing, forest_plot, label_signs
from core.plots.forest_plot import Row
from core.texts import number_text

COLUMNS = ("pair_id", "pert", "gene", "label", "rank_a", "rank_b")
SHOWN: Final = 20
_REACH: Final = (1.0, 10.0)  # ranks that the axis always includes
_RUN_LENGTH, _DOT, _SIGN_RADIUS_PX, _PLOT_PX = 20, 5, 5, 400  # _PLOT_PX: the usual width


def figure(table: pd.DataFrame, before: str, after: str, score: str = "P(DE)") -> go.Figure:
    """Draw one row of the forest plot for each row, in order: a dot at its rank in `before`, a sign at its rank in `after`.

    table: pair_id, pert, gene, label (None if unknown), rank_a, rank_b, where 1 is the largest `score`; the first 20 rows with
    both ranks are drawn. A mark's customdata is its pair_id. Raise InputError if no row has both ranks.
    """
    drawing.require_columns("rank_movers", table, COLUMNS)
    known = table.assign(label=label_signs.label_column("rank_movers", table)).dropna(subset=["rank_a", "rank_b"]).head(SHOWN)
    if known.empty:
        raise InputError(f"rank_movers: got no row with a rank in both {before} and {after}; expected at least one")
    marks = [_row(row) for row in known.itertuples()]
    runs = f"dot in {drawing.escape(before, _RUN_LENGTH)}, sign in {drawing.escape(after, _RUN_LENGTH)}"
    chart = forest_plot.draw_forest(marks, [], f"rank of {score} (1 is the largest)<br>{runs}", _REACH)
    chart.update_traces(error_x_visible=False)
    rows = pd.DataFrame([each.as_record() for each in marks]).assign(before=known["rank_a"].to_numpy())
    chart.add_scatter(
        x=rows["before"],
        y=list(range(len(known))),
        name="before",
        mode="markers",
        marker={"color": rows["colour"], "size": _DOT},
        hovertext=rows["hover"],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    _connect(chart, rows)
    for trace in chart.select_traces(selector={"mode": "markers"}):
        trace.customdata = [known["pair_id"].iloc[line] for line in trace.y]
    label_signs.draw_key(chart, label_signs.counts_by_label(known["label"]))
    chart.update_layout(height=chart.layout.height + drawing.TEXT_PX + label_signs.ABOVE_PX, margin_t=label_signs.ABOVE_PX)
    low, high = chart.layout.xaxis.range
    chart.update_traces(cliponaxis=False)  # the first rank is at the edge
    # A row that rises goes to the right.
    chart.update_xaxes(tickformat=",", range=[high, max(low, drawing.BEFORE_FIRST)])
    return chart


def _row(row: Any) -> Row:
    pair, ranks = f"{row.pert} ⟶ {row.gene}", f"{_rank(row.rank_a)} → {_rank(row.rank_b)}"
    ends = row.rank_b, min(row.rank_a, row.rank_b), max(row.rank_a, row.rank_b)
    hover = (pair, label_signs.hover_words(row.label), f"rank {ranks}")
    moved = number_text(row.rank_a - row.rank_b, "+,.10g")
    return Row(pair, ends, moved, hover, colour=label_signs.COLOURS[row.label], symbol=label_signs.SYMBOLS[row.label])


def _connect(chart: go.Figure, rows: pd.DataFrame) -> None:
    """Draw a line from the dot to the sign, below both, with one trace per colour: one arrow per row takes a browser 8 ms."""
    low, high = chart.layout.xaxis.range
    edge = _SIGN_RADIUS_PX * (high - low) / _PLOT_PX
    signs = chart.data
    for colour, part in rows.groupby("colour", sort=False):
        way = part["estimate"] - part["before"]
        end = part["estimate"] - np.sign(way) * np.minimum(edge, way.abs())  # a hollow sign stays hollow
        chart.add_scatter(
            x=np.column_stack((part["before"], end, np.full(len(part), np.nan))).ravel(),
            y=np.repeat(part.index, 3),
            mode="lines",
            line={"color": colour, "width": 1.5},
            hoverinfo="skip",
        )
    chart.data = (*chart.data[len(signs) :], *signs)


def _rank(value: float) -> str:
    return f"{value:,.10g}"  # ends in .5 if rows tie
