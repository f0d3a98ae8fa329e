"""Figure: a map of the genes of a space, with a query and the neighbours behind its prior."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, label_signs
from core.stats.arrays import Floats

KINDS: Final = ("other", "neighbour", "query")
NAMED: Final = 5  # number of neighbours (largest shares first) shown with their symbols
HEIGHT_PX: Final = int(1.6 * drawing.HEIGHT_PX)
_CLOSEST = (
    # least share of the extent of all genes along an axis, so that a single marked gene is shown
    # with its surroundings
    0.05
)
# pixels across the lightest neighbour, the heaviest, and the query
_SMALLEST, _LARGEST, _STAR = 6, 24, 17
_NAME_LENGTH = 14  # characters of a symbol; the hover shows the full symbol
_SHARE_LENGTH = 6  # characters of the sign before a symbol and the percentage after it
_CHARACTER_PX = 7  # width of a character


def figure(table: pd.DataFrame, query: str, axes: tuple[str, str]) -> go.Figure:
    """Draw genes as faint dots, the neighbours of `query` sized by their share of the prior, and
    the query as a star.

    The plot is zoomed to the query and its neighbours, because they would lie on one spot in a map
    of all genes. The title of the x axis gives the number of genes outside. table: symbol, x, y (a
    gene without both is not drawn), kind (query, at most once; neighbour, other), share (of the
    prior, in [0, 1]; 0 for others), label (of a neighbour's rows: up, down, none, de, mixed, or ""
    if unknown). query: its symbol; if it has no coordinates, the title of the x axis says so. axes:
    their titles.
    """
    known = table.assign(label=label_signs.label_column(table)).dropna(subset=["x", "y"])
    others, neighbours, query_rows = (known[known["kind"] == kind] for kind in KINDS)
    neighbours = neighbours.sort_values("share", ascending=False, kind="stable")
    shares = neighbours["share"]
    # Diameters in pixels. Areas grow with the share, up to the heaviest neighbour's; the lightest
    # stays visible
    sizes: Floats = np.maximum(_SMALLEST, _LARGEST * np.sqrt(shares / (shares.max() or 1.0)))
    neighbours, query_rows = neighbours.assign(size=sizes), query_rows.assign(size=_STAR)
    marked = known[known["kind"] != "other"] if len(others) < len(known) else known
    x, y = _frame(marked["x"], known["x"]), _frame(marked["y"], known["y"])
    chart = go.Figure()
    # No WebGL, because some browsers lack it, and seven thousand dots are fast enough without it.
    marker = {"color": drawing.transparent(drawing.BASELINE, 0.25), "size": 3}
    _draw_marks(
        chart, others, "other", marker, [drawing.escape(symbol) for symbol in others["symbol"]]
    )
    _draw_neighbours(chart, neighbours)
    # dark with a white edge is visible in light and in dark
    ink, edge = drawing.INK_ON[False], drawing.INK_ON[True]
    star = {"color": ink, "symbol": "star", "size": _STAR, "line": {"color": edge, "width": 1.5}}
    _draw_marks(
        chart,
        query_rows,
        "query",
        star,
        [f"{drawing.escape(symbol)}, the query" for symbol in query_rows["symbol"]],
    )
    right = _draw_names(chart, pd.concat([neighbours.head(NAMED), query_rows]), x, y)
    label_signs.draw_key(chart, [*label_signs.counts_by_label(neighbours["label"]), "size: share"])
    chart.update_layout(height=HEIGHT_PX, margin={"t": label_signs.ABOVE_PX, "r": right})
    remarks = [] if len(query_rows) else [f"{_italic(query)} is not on this map"]
    beyond = int((~(known["x"].between(*x) & known["y"].between(*y))).sum())
    remarks += [f"outside the frame: {beyond:,} of {len(known):,} genes"] * (beyond > 0)
    chart.update_xaxes(
        title="<br>".join([drawing.escape(axes[0]), *remarks]),
        range=x,
        showgrid=False,
        zeroline=False,
    )
    chart.update_yaxes(title=drawing.escape(axes[1]), range=y, zeroline=False)
    return chart


def _frame(marked: pd.Series[float], known: pd.Series[float]) -> tuple[float, float]:
    """Return the range of an axis with the marked genes and at least `_CLOSEST` of the extent of
    all genes with coordinates."""
    low, high = float(marked.min()), float(marked.max())
    missing = _CLOSEST * float(known.max() - known.min()) - (high - low)
    if missing > 0:
        low, high = low - missing / 2, high + missing / 2
    room = 0.07 * (high - low) or 0.5
    return low - room, high + room


def _italic(symbol: object) -> str:
    return f"<i>{drawing.escape(symbol, _NAME_LENGTH)}</i>"


def _draw_neighbours(chart: go.Figure, table: pd.DataFrame) -> None:
    """Draw the heaviest neighbours first, so that no mark hides a smaller one."""
    marker = {
        "color": [_fill(label) for label in table["label"]],
        "symbol": table["label"].map(label_signs.SYMBOLS),
        "size": table["size"],
        "opacity": 1,
        "line": {"color": table["label"].map(label_signs.COLOURS), "width": 1.5},
    }
    _draw_marks(chart, table, "neighbour", marker, [_hover(row) for row in table.itertuples()])


def _draw_marks(
    chart: go.Figure, table: pd.DataFrame, name: str, marker: dict[str, Any], hover: list[str]
) -> None:
    chart.add_scatter(
        x=table["x"],
        y=table["y"],
        name=name,
        mode="markers",
        marker=marker,
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _fill(label: str) -> str:
    """Return the fill of a mark, transparent so that overlapping marks stay distinguishable; an
    open mark uses it as its outline.
    """
    colour = label_signs.COLOURS[label]
    return (
        colour
        if label_signs.SYMBOLS[label].endswith("-open")
        else drawing.transparent(colour, 0.15)
    )


def _hover(row: Any) -> str:
    return (
        f"{drawing.escape(row.symbol)}<br>{100 * row.share:.1f}% of the"
        f" prior<br>{label_signs.hover_words(row.label)}"
    )


def _draw_names(
    chart: go.Figure, table: pd.DataFrame, x: tuple[float, float], y: tuple[float, float]
) -> int:
    """Write symbols evenly spaced to the right of the plot, with leaders to their marks; return
    their width in pixels."""
    levels = np.linspace(*y, len(table) + 2)[1:-1]
    row: Any
    for row, level in zip(table.sort_values("y", kind="stable").itertuples(), levels, strict=True):
        share = f"{label_signs.sign_markup(row.label)} {_italic(row.symbol)} {100 * row.share:.0f}%"
        chart.add_annotation(
            x=row.x,
            y=row.y,
            ax=x[1],
            ay=level,
            axref="x",
            ayref="y",
            xanchor="left",
            text=f"<b>★ {_italic(row.symbol)}</b>" if row.kind == "query" else share,
            font_size=drawing.SMALL,
            arrowcolor=drawing.BASELINE,
            arrowhead=0,
            arrowwidth=1,
            standoff=row.size / 2,
        )
    longest = min(_NAME_LENGTH, max(table["symbol"].str.len(), default=0))
    return 8 + _CHARACTER_PX * (longest + _SHARE_LENGTH)
