"""Figure: the answers about one row with the original dossier and with a changed one, one dot per answer."""

from __future__ import annotations

from typing import Final

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

COLUMNS = ("name", "side", "p")
AGAIN, CHANGED, STANDS = "as it was", "changed", "in the run"
COLOURS: Final = {AGAIN: theme.BASELINE, CHANGED: theme.CHOSEN, STANDS: theme.WARNING}
_SYMBOLS: Final = {AGAIN: "circle", CHANGED: "circle", STANDS: "diamond-open"}
_BAND_OPACITY = 0.2
_HALF_BAND = 0.4  # of a row


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw two rows per number: answers with the unchanged dossier over the band of their range, and answers with the changed
    one.

    table: name (of the number), side (AGAIN, CHANGED, or STANDS: the answer in the run, drawn on the row of AGAIN), p (a
    probability). A number without changed answers has one row. Raise InputError for missing columns and other sides.
    """
    drawing.require_columns("asked_again", table, COLUMNS)
    drawing.require_values("asked_again", table, "side", COLOURS)
    shown = table[table["side"] != STANDS]
    rows = list(dict.fromkeys(zip(shown["name"], shown["side"], strict=True)))
    place = {row: i for i, row in enumerate(rows)}
    chart = go.Figure()
    for name, part in shown[shown["side"] == AGAIN].groupby("name", sort=False):
        of_number = [place[row] for row in rows if row[0] == name]
        p = part["p"]
        first = min(of_number)
        last = max(of_number)
        band = drawing.transparent(theme.WARNING, _BAND_OPACITY)
        low, high = float(p.min()), float(p.max())
        y0, y1 = first - _HALF_BAND, last + _HALF_BAND
        chart.add_shape(type="rect", x0=low, x1=high, y0=y0, y1=y1, fillcolor=band, line_width=0, layer="below")
    for side, colour in COLOURS.items():
        part = table[(table["side"] == side) & table["p"].notna()]
        y = [place.get((name, AGAIN if side == STANDS else side)) for name in part["name"]]
        chart.add_scatter(
            x=part["p"],
            y=y,
            mode="markers",
            marker={"color": colour, "size": 11, "symbol": _SYMBOLS[side], "opacity": 1 if side == STANDS else 0.65},
            hovertemplate=f"{side}: %{{x:.1%}}<extra></extra>",
        )
    names = [f"<b>{drawing.escape(name)}</b> {side}" for name, side in rows]
    chart.update_layout(height=64 + 2 * theme.ROW_PX + theme.ROW_PX * len(rows))
    chart.update_xaxes(title="probability; ◇ in the original run", tickformat=".0%", range=_range(table["p"]), zeroline=False)
    chart.update_yaxes(range=[len(rows) - 0.5, -0.5], tickvals=list(range(len(rows))), ticktext=names, zeroline=False)
    return chart


def _range(p: pd.Series) -> list[float]:
    """Return the range of the answers with a margin, inside [0, 1] except for the width of a dot."""
    room = 0.05 * max(float(p.max() - p.min()), 0.2)
    return [max(float(p.min()) - room, -0.02), min(float(p.max()) + room, 1.02)]
