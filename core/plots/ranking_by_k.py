"""Figure: how often models rank perturbed genes among the first k, compared with a random ranking and the structural ceiling."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme
from core.texts import estimate_text, number_text

COLUMNS = ("model", "k", "estimate", "low", "high", "random", "ceiling", "n", "conditions")
_SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up", "cross", "star")
_NAMES_PX: Final = 170
_HEIGHT_PX: Final = 320
_GAP: Final = 0.062  # between two names on the right, as a share of the axis


def figure(table: pd.DataFrame, chosen: str, title: str) -> go.Figure:
    """Draw one line for each model by k, named at its end, with its 95% interval as a band; random and ceiling are dashed.

    table: COLUMNS, one row for each model and k; low, high: NaN without an interval. chosen: the model drawn in the colour of
    the chosen run. title: of the value axis. Raise InputError for missing columns.
    """
    drawing.require_columns("ranking_by_k", table, COLUMNS)
    chart = go.Figure()
    places = {k: at for at, k in enumerate(sorted(table["k"].unique()))}
    names: dict[str, tuple[float, str]] = {}
    for at, (model, rows) in enumerate(table.groupby("model", sort=False)):
        colour = theme.CHOSEN if model == chosen else theme.BASELINE
        rows = rows.sort_values("k")
        _draw_model(chart, rows.assign(x=rows["k"].map(places)), colour, _SYMBOLS[at % len(_SYMBOLS)])
        names[drawing.escape(model, 24)] = (float(rows["estimate"].iloc[-1]), colour)
    for column, words, colour in (("ceiling", "ceiling, trained genes", theme.WARNING), ("random", "random ranking", theme.NULL)):
        line = table.drop_duplicates("k").sort_values("k")
        _draw_line(chart, line.assign(x=line["k"].map(places)), column, words, colour)
        names[words] = (float(line[column].iloc[-1]), colour)
    _draw_names(chart, names, len(places) - 1)
    chart.update_layout(height=_HEIGHT_PX, margin_r=_NAMES_PX)
    ticks = {"tickvals": list(places.values()), "ticktext": [f"{k:.0f}" for k in places]}
    chart.update_xaxes(
        title="k, number of genes at the top of a ranking", zeroline=False, range=[-0.2, len(places) - 0.8], **ticks
    )
    chart.update_yaxes(title=title, range=[-0.02, 1.04], showgrid=True, zeroline=False)
    return chart


def _draw_model(chart: go.Figure, rows: pd.DataFrame, colour: str, symbol: str) -> None:
    if colour == theme.CHOSEN:
        band = rows.dropna(subset=["low", "high"])
        chart.add_scatter(
            x=[*band["x"], *band["x"][::-1]],
            y=[*band["high"], *band["low"][::-1]],
            fill="toself",
            fillcolor=drawing.transparent(colour, 0.15),
            mode="lines",
            line_width=0,
            hoverinfo="skip",
        )
    chart.add_scatter(
        x=rows["x"],
        y=rows["estimate"],
        error_y=drawing.error_bars(rows, "estimate", colour),
        name=str(rows["model"].iloc[0]),
        mode="lines+markers",
        line={"color": colour, "width": 2.5 if colour == theme.CHOSEN else 1.5},
        marker={"symbol": symbol, "size": 9},
        hovertext=[_hover(row) for row in rows.to_dict("records")],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )


def _hover(row: Mapping[Any, Any]) -> str:
    interval = estimate_text(row["estimate"], row["low"], row["high"])
    counts = f"{row['n']:,} rankings, {row['conditions']:,} conditions"
    return f"{drawing.escape(row['model'])}, k {row['k']:.0f}<br>{interval}<br>{counts}"


def _draw_line(chart: go.Figure, rows: pd.DataFrame, column: str, words: str, colour: str) -> None:
    chart.add_scatter(
        x=rows["x"],
        y=rows[column],
        name=words,
        mode="lines",
        line={"color": colour, "width": 2, "dash": "dash" if column == "ceiling" else "dot"},
        hovertext=[f"{words}, k {k:.0f}: {number_text(value)}" for k, value in zip(rows["k"], rows[column], strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _draw_names(chart: go.Figure, names: Mapping[str, tuple[float, str]], last: int) -> None:
    """Draw each name at the end of its line, moved apart if names would touch."""
    known = {name: place for name, place in names.items() if not np.isnan(place[0])}
    order = sorted(known, key=lambda name: known[name][0])
    heights: list[float] = []
    for name in order:
        heights.append(max(known[name][0], heights[-1] + _GAP) if heights else known[name][0])
    surplus = max(0.0, heights[-1] - 1.02) if heights else 0.0
    for name, height in zip(order, heights, strict=True):
        chart.add_annotation(
            x=last,
            y=height - surplus,
            text=f"{name} {number_text(known[name][0], '.2f')}",
            xanchor="left",
            xshift=10,
            showarrow=False,
            font={"size": drawing.SMALL, "color": known[name][1]},
        )
