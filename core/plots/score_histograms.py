"""Figure: the distribution of a score over the rows of each label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme
from core.stats.arrays import Codes, Floats
from core.stats.ranks import round_for_ranks

BINS: Final = 30
_LINE: Final = 0.13  # height of a line of names above the highest bin, as a share of the bin's height
# Label in the table → label whose colour and sign the theme defines.
KINDS: Final = {"up or down": "de", "none": "none", "up": "up", "down": "down"}


def figure(table: pd.DataFrame, score: str) -> go.Figure:
    """Draw one step histogram for each label over shared bins. Each sums to 1 and is named at its most distinct bin.

    table: label ("up or down", "none", "up", "down") and value of each row. score: the value's name, such as "P(DE)".
    """
    edges = _edges(table["value"].to_numpy(dtype=np.float64))
    parts = table.groupby("label", sort=False)["value"]
    counts = {str(label): np.histogram(round_for_ranks(part), edges)[0] for label, part in parts}
    top = max((float(_percent(count).max()) for count in counts.values()), default=100.0)
    chart = go.Figure()
    for label, count in counts.items():
        _draw_steps(chart, label, edges, count)
    _draw_names(chart, edges, counts, top)
    chart.update_xaxes(showgrid=False, title=score, range=[edges[0], edges[-1]], zeroline=False)
    chart.update_yaxes(showgrid=True, title="rows of the label, %", range=[0, top * (1.08 + _LINE * len(counts))])
    return chart


def _edges(values: Floats) -> Floats:
    """Return the edges of equal bins over [0, 1], or over the range of the values if that is larger."""
    low, high = float(values.min(initial=0.0)), float(values.max(initial=1.0))
    edges: Floats = round_for_ranks(np.linspace(low, high, BINS + 1))
    return edges


def _percent(count: Codes) -> Floats:
    return 100 * count / max(1, int(count.sum()))


def _draw_steps(chart: go.Figure, label: str, edges: Floats, count: Codes) -> None:
    colour, share = theme.LABEL_COLOURS[KINDS[label]], _percent(count)
    bins = zip(edges, edges[1:], count, share, strict=False)  # there is one more edge than bins
    hover = [f"{low:.2f} to {high:.2f}: {n:,} of {count.sum():,} rows, {part:.1f}%" for low, high, n, part in bins]
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


def _draw_names(chart: go.Figure, edges: Floats, counts: Mapping[str, Codes], top: float) -> None:
    """Write each label's name above the plot, with a leader to the bin where it exceeds the other labels most.

    Names extend away from the other leaders; without room for that, the leftmost name is at the top.
    """
    best = sorted((_most_distinct_bin(label, counts), label) for label in counts)
    room = BINS // 3
    levels = range(len(best)) if best and best[0][0] >= room else reversed(range(len(best)))
    for k, (level, (place, label)) in enumerate(zip(levels, best, strict=True)):
        rightwards = place < room or (k > 0 and place < BINS - room)
        kind, rows = KINDS[label], drawing.rows_text(counts[label].sum())
        x = (edges[place] + edges[place + 1]) / 2
        chart.add_annotation(
            x=x,
            y=_percent(counts[label])[place],
            ax=x,
            ay=top * (1.08 + _LINE * level),
            axref="x",
            ayref="y",
            text=f'<span style="color:{theme.LABEL_COLOURS[kind]}">{theme.LABEL_SIGNS[kind]}</span> {label}, {rows}',
            xanchor="left" if rightwards else "right",
            arrowcolor=theme.LABEL_COLOURS[kind],
            arrowhead=0,
            arrowwidth=1,
        )


def _most_distinct_bin(label: str, counts: Mapping[str, Codes]) -> int:
    """Return the bin where the label's share exceeds the others' most, or its fullest bin if there are no other labels."""
    others = [_percent(count) for other, count in counts.items() if other != label]
    return int(np.argmax(_percent(counts[label]) - (np.max(others, axis=0) if others else 0.0)))
