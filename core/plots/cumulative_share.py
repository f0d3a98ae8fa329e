"""On how many neighbours a prior rests."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.errors import InputError
from core.plots import drawing, label_signs, theme
from core.stats.ranks import round_for_ranks

COLUMNS = ("neighbour", "share", "cumulative", "label")
PARTS: Final = {0.5: "half", 0.9: "90%"}  # of the prior
LINEAR: Final = 100  # neighbours; more are counted on a logarithmic axis
SIGNED: Final = 25  # heaviest neighbours drawn with the sign of their label


def figure(table: pd.DataFrame, what: str) -> go.Figure:
    """A step a neighbour from the heaviest to the lightest, and how many of them hold half and 90% of the prior.

    table: neighbour, share and cumulative (in [0, 1]; without the lightest it may end before 1, and then it is not said
    how many hold more than that), label (up, down, none, de, or "" where unknown). what: the prior's name, such as
    "prior of P(DE)". InputError if there is no neighbour, or one heavier than the one before it.
    """
    drawing.require_columns("cumulative_share", table, COLUMNS)
    labels = label_signs.labels("cumulative_share", table)
    n, shares = len(table), round_for_ranks(table["share"])
    if n == 0:
        raise InputError(f"cumulative_share: got no neighbour for the {what}; expected at least one")
    if (np.diff(shares) > 0).any():
        at = int((np.diff(shares) > 0).argmax()) + 1
        raise InputError(f"cumulative_share: share: row {at}: got {shares[at]} after {shares[at - 1]}; expected heaviest first")
    chart = go.Figure()
    _steps(chart, table.assign(label=labels))
    for part, name in PARTS.items():
        _note(chart, round_for_ranks(table["cumulative"]), part, name)
    of = [f"of the heaviest {SIGNED}"] if n > SIGNED else []
    label_signs.draw_key(chart, [*label_signs.counts_by_label(labels.head(SIGNED)), *of])
    chart.update_layout(height=int(1.2 * theme.HEIGHT_PX), margin_t=label_signs.ABOVE_PX)
    chart.update_xaxes(title="neighbours, from the heaviest", tickformat=",", showgrid=False, zeroline=False)
    if n > LINEAR:
        chart.update_xaxes(type="log", range=[-0.02, 1.02 * np.log10(n)], dtick=1)
    else:
        chart.update_xaxes(range=[0, 1.03 * n], dtick=1 if n <= 10 else None)
    chart.update_yaxes(title=f"share of the {drawing.plain(what)}, %", range=[-2, 104], showgrid=True, zeroline=False)
    return chart


def _steps(chart: go.Figure, table: pd.DataFrame) -> None:
    n, percent = len(table), 100 * table["cumulative"].to_numpy(dtype=np.float64)
    count = np.arange(1, n + 1)
    start = 1 if n > LINEAR else 0  # a logarithmic axis has no 0
    told = ["before the first neighbour, 0%", *map(_told, table.itertuples(), range(1, n + 1))]
    chart.add_scatter(
        x=[start, *count],
        y=[0.0, *percent],
        name="all",
        mode="lines",
        line={"color": theme.CHOSEN, "width": 2, "shape": "hv"},
        hovertext=told,
        hovertemplate="%{hovertext}<extra></extra>",
    )
    heaviest = table["label"].head(SIGNED)
    chart.add_scatter(
        x=count[:SIGNED],
        y=percent[:SIGNED],
        name="heaviest",
        mode="markers",
        marker={"color": heaviest.map(label_signs.COLOURS), "symbol": heaviest.map(label_signs.SYMBOLS), "size": 8},
        cliponaxis=False,
        hoverinfo="skip",
    )


def _told(row: Any, k: int) -> str:
    held = f"{_holding(k)} {100 * row.cumulative:.1f}%"
    return f"{held}<br>number {k:,}: {drawing.plain(row.neighbour)}, {100 * row.share:.2g}%<br>label {row.label}"


def _holding(k: int) -> str:
    return "1 neighbour holds" if k == 1 else f"{k:,} neighbours hold"


def _note(chart: go.Figure, cumulative: np.ndarray, part: float, name: str) -> None:
    """How many neighbours hold a part, where the steps pass it, on the side of the curve where nothing is."""
    n, held = len(cumulative), cumulative >= part
    if not held.any():
        return
    k = int(held.argmax()) + 1
    x, last = (np.log10([k, n])) if n > LINEAR else (k, n)
    rightwards = x < 0.5 * last
    chart.add_annotation(
        x=x,
        y=100 * part,
        text=f"{_holding(k)} {name}",
        xanchor="left" if rightwards else "right",
        yanchor="top" if rightwards else "bottom",
        ax=30 if rightwards else -30,
        ay=10 if rightwards else -10,
        arrowcolor=theme.BASELINE,
        arrowhead=0,
        arrowwidth=1,
    )
