"""Figure: the distribution of a score over the rows of each label."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, label_signs
from core.stats.arrays import Codes, Floats
from core.stats.ranks import round_for_ranks

BINS: Final = 30
# Label in the table → label whose colour and sign the theme defines.
KINDS: Final = {"up or down": "de", "none": "none", "up": "up", "down": "down"}


def figure(table: pd.DataFrame, score: str) -> go.Figure:
    """Draw one step histogram for each label over shared bins, of which each sums to 1.

    table: label ("up or down", "none", "up", "down") and value of each row. score: the value's
    name, such as "P(DE)".
    """
    edges = _edges(table["value"].to_numpy(dtype=np.float64))
    parts = table.groupby("label", sort=False)["value"]
    counts = {str(label): np.histogram(round_for_ranks(part), edges)[0] for label, part in parts}
    top = max((float(_percent(count).max()) for count in counts.values()), default=100.0)
    chart = go.Figure()
    for label, count in counts.items():
        colour, share = drawing.LABEL_COLOURS[KINDS[label]], _percent(count)
        bins = zip(edges, edges[1:], count, share, strict=False)  # there is one more edge than bins
        hover = [
            f"{low:.2f} to {high:.2f}: {n:,} of {count.sum():,} rows, {part:.1f}%"
            for low, high, n, part in bins
        ]
        chart.add_scatter(
            x=[edges[0], *edges],
            y=[0.0, *share, 0.0],
            name=label,
            mode="lines",
            line={"color": colour, "width": 2, "shape": "hv"},
            fill="tozeroy",
            fillcolor=drawing.transparent(colour, 0.12),
            hovertext=[hover[0], *hover, hover[-1]],
            hovertemplate=f"{label}, %{{hovertext}}<extra></extra>",
        )
    keys = [
        f"{label_signs.sign_markup(KINDS[label])} {label}, {drawing.rows_text(n.sum())}"
        for label, n in counts.items()
    ]
    label_signs.draw_key(chart, keys)
    chart.update_layout(margin_t=label_signs.ABOVE_PX)
    chart.update_xaxes(showgrid=False, title=score, range=[edges[0], edges[-1]], zeroline=False)
    chart.update_yaxes(showgrid=True, title="rows of the label, %", range=[0, 1.08 * top])
    return chart


def _edges(values: Floats) -> Floats:
    """Return the edges of equal bins over [0, 1], or over the range of the values if that is
    larger."""
    low, high = float(values.min(initial=0.0)), float(values.max(initial=1.0))
    edges: Floats = round_for_ranks(np.linspace(low, high, BINS + 1))
    return edges


def _percent(count: Codes) -> Floats:
    return 100 * count / max(1, int(count.sum()))
