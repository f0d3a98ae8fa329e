"""Figure: the cumulative share of the neighbours in a prior. It shows how many neighbours the prior
depends on."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, label_signs

_DECIMALS = 9  # otherwise rounding could keep sums of thousands of shares just below a half
PARTS: Final = {0.5: "half", 0.9: "90%"}  # of the prior
LINEAR: Final = 100  # the axis is linear up to this neighbour and logarithmic beyond it
SIGNED: Final = 25  # number of heaviest neighbours drawn with the sign of their label


def figure(table: pd.DataFrame, what: str, unit: str) -> go.Figure:
    """Draw one step for each neighbour, the heaviest first, with the numbers of neighbours behind
    half and 90% of the prior.

    table: neighbour, share and cumulative (in [0, 1]; it ends below 1 if the lightest neighbours
    are left out, and shares beyond its end get no number), label (up, down, none, de, or "" if
    unknown). what: the prior's name, such as "prior of P(DE)"; unit: the kind of neighbour, such as
    "gene".
    """
    labels, n = label_signs.label_column(table), len(table)
    chart = go.Figure()
    _draw_steps(chart, table.assign(label=labels), unit)
    reached = {
        name: table["cumulative"].round(_DECIMALS).to_numpy() >= part
        for part, name in PARTS.items()
    }
    notes = [
        f"{_count_text(int(flags.argmax()) + 1, unit)} {name}"
        for name, flags in reached.items()
        if flags.any()
    ]
    of = [f"of the heaviest {SIGNED}"] if n > SIGNED else []
    label_signs.draw_key(chart, [*label_signs.counts_by_label(labels.head(SIGNED)), *of])
    chart.update_layout(height=int(1.2 * drawing.HEIGHT_PX), margin_t=label_signs.ABOVE_PX)
    chart.update_xaxes(
        title="<br>".join([f"{unit}s, from the heaviest", *notes]),
        tickformat=",",
        showgrid=False,
        zeroline=False,
    )
    if n > LINEAR:
        chart.update_xaxes(type="log", range=[-0.02, 1.02 * np.log10(n)], dtick=1)
    else:
        chart.update_xaxes(range=[0, 1.03 * n], dtick=1 if n <= 10 else None)
    chart.update_yaxes(
        title=f"share of the {drawing.escape(what)}, %",
        range=[-2, 104],
        showgrid=True,
        zeroline=False,
    )
    return chart


def _draw_steps(chart: go.Figure, table: pd.DataFrame, unit: str) -> None:
    n, percent = len(table), 100 * table["cumulative"].to_numpy(dtype=np.float64)
    count = np.arange(1, n + 1)
    start = 1 if n > LINEAR else 0  # a logarithmic axis has no 0
    hover = [
        f"before the first {unit}, 0%",
        *(_hover(row, k, unit) for k, row in enumerate(table.itertuples(), 1)),
    ]
    chart.add_scatter(
        x=[start, *count],
        y=[0.0, *percent],
        name="all",
        mode="lines",
        line={"color": drawing.CHOSEN, "width": 2, "shape": "hv"},
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )
    heaviest = table["label"].head(SIGNED)
    chart.add_scatter(
        x=count[:SIGNED],
        y=percent[:SIGNED],
        name="heaviest",
        mode="markers",
        marker={
            "color": heaviest.map(label_signs.COLOURS),
            "symbol": heaviest.map(label_signs.SYMBOLS),
            "size": 8,
        },
        cliponaxis=False,
        hoverinfo="skip",
    )


def _hover(row: Any, k: int, unit: str) -> str:
    total = f"{_count_text(k, unit)} {100 * row.cumulative:.1f}%"
    number = f"number {k:,}: {drawing.escape(row.neighbour)}, {100 * row.share:.2g}%"
    return f"{total}<br>{number}<br>{label_signs.hover_words(row.label)}"


def _count_text(k: int, unit: str) -> str:
    return f"1 {unit} holds" if k == 1 else f"{k:,} {unit}s hold"
