"""Figure: the mean score over all pairs of fusion weights, with its best value, its plateau and the
current weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from core.base.texts import number_text
from core.plots import drawing, label_signs
from core.stats.arrays import Floats

COLUMNS = ("w_de", "w_dir", "mean", "plateau")
# Transparent for low scores, so that they recede on light and on dark pages.
RAMP: Final = [
    [0.0, drawing.transparent(drawing.CHOSEN, 0.04)],
    [1.0, drawing.transparent(drawing.CHOSEN, 1)],
]
# dark with a white edge is visible on every part of the ramp
_INK, _EDGE = drawing.INK_ON[False], drawing.INK_ON[True]
_NAME_LENGTH = 24  # characters of the component's name
_CORNER = 1e-3  # share of a cell cut off at each corner of the ring


def table(grid: Sequence[float], mean: ArrayLike, plateau: ArrayLike) -> pd.DataFrame:
    """Return a weight grid with one row for each pair of weights; columns: w_de, w_dir, mean,
    plateau.

    grid: the weights, of shape (n_weights,). mean, plateau: of shape (n_weights, n_weights), weight
    of DE by weight of DIR; plateau: flags.
    """
    n = len(grid)
    columns = (np.repeat(grid, n), np.tile(grid, n), np.ravel(mean), np.ravel(plateau))
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)))


def figure(
    table: pd.DataFrame, now: tuple[float, float], best: tuple[float, float], name: str
) -> go.Figure:
    """Draw a heat map of the mean with a ring around the plateau, a cross at `now` and the value at
    `best`.

    table: w_de, w_dir, mean (NaN leaves a gap), plateau (within one standard error of the best),
    one row for each pair of at least two weights each. now: the current weights in DE and DIR, on
    or off the grid; best: a pair in the table; name: of the component with these weights.
    """
    mean, plateau = (
        table.pivot(index="w_dir", columns="w_de", values=name) for name in ("mean", "plateau")
    )
    x, y = (_borders(axis.to_numpy(dtype=np.float64)) for axis in (mean.columns, mean.index))
    chart = go.Figure()
    chart.add_heatmap(
        x=mean.columns,
        y=mean.index,
        z=mean,
        text=np.where(plateau, "<br>as good as the best, within one standard error", ""),
        colorscale=RAMP,
        colorbar={
            "title": {"text": "mean of DE and DIR", "side": "right", "font_size": drawing.SMALL},
            "tickfont_size": drawing.SMALL,
            "tickformat": ".3f",
            "thickness": 10,
            "outlinewidth": 0,
        },
        hoverongaps=False,
        hovertemplate=(
            "weight in DE %{x:.2f}, in DIR %{y:.2f}<br>mean %{z:.3f}%{text}<extra></extra>"
        ),
    )
    _draw_ring(chart, x, y, plateau.to_numpy(dtype=np.int8))
    spans = [
        (min(edges[0], here), max(edges[-1], here)) for edges, here in zip((x, y), now, strict=True)
    ]
    _draw_mark(
        chart,
        best,
        "best weights",
        {"symbol": "circle", "size": 9, "color": _EDGE, "line": {"color": _INK, "width": 2}},
    )
    _draw_mark(chart, now, "your weights", {"symbol": "cross", "size": 15, "color": _INK})
    label_signs.draw_key(
        chart,
        [
            "✚ your weights",
            f"○ best weights {number_text(float(table['mean'].max()))}",
            "outline: within one standard error",
        ],
    )
    chart.update_layout(height=int(1.4 * drawing.HEIGHT_PX), margin_t=label_signs.ABOVE_PX)
    for update, span, score in (
        (chart.update_xaxes, spans[0], "DE"),
        (chart.update_yaxes, spans[1], "DIR"),
    ):
        room = 0.012 * (span[1] - span[0])  # room for a ring along the edge
        update(
            title=f"weight of {drawing.escape(name, _NAME_LENGTH)} in {score}",
            range=[span[0] - room, span[1] + room],
            showgrid=False,
            zeroline=False,
            ticks="",
        )
    return chart


def _borders(weights: Floats) -> Floats:
    """Return the borders of the cells around increasing weights: half-way between neighbours, and
    equally far beyond the ends."""
    middle = (weights[1:] + weights[:-1]) / 2
    borders: Floats = np.concatenate(
        [[2 * weights[0] - middle[0]], middle, [2 * weights[-1] - middle[-1]]]
    )
    return borders


def _draw_ring(chart: go.Figure, x: Floats, y: Floats, plateau: np.ndarray) -> None:
    """Draw the outline of the plateau along the borders of its cells.

    The contour between 0 and 1 runs half-way between points. So each cell has points just inside
    its four corners, and the outside is 0.
    """
    flags = np.pad(np.kron(plateau, np.ones((2, 2), dtype=np.int8)), 1)
    near = [
        (edges[:, None] + _CORNER * np.diff(edges).min() * np.array([-1, 1])).ravel()
        for edges in (x, y)
    ]
    for colour, width in ((_EDGE, 5), (_INK, 2)):
        chart.add_contour(
            x=near[0],
            y=near[1],
            z=flags,
            contours={"coloring": "none", "start": 0.5, "end": 0.5, "size": 1},
            line={"color": colour, "width": width, "smoothing": 0},
            showscale=False,
            hoverinfo="skip",
        )


def _draw_mark(
    chart: go.Figure, weights: tuple[float, float], name: str, marker: dict[str, object]
) -> None:
    chart.add_scatter(
        x=[weights[0]],
        y=[weights[1]],
        name=name,
        mode="markers",
        marker={"line": {"color": _EDGE, "width": 2}, **marker},
        cliponaxis=False,
        hovertemplate=f"{name}: weight in DE %{{x:.2f}}, in DIR %{{y:.2f}}<extra></extra>",
    )
