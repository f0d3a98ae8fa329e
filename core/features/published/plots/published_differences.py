"""Figure: the distance of our numbers from the published ones, in units of the tolerance."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

EDGE = 3.0  # in tolerances; larger differences are drawn here, and the hover shows the value
_COLOURS = {"agrees": theme.CHOSEN, "differs": theme.WARNING}
_SYMBOLS = {"agrees": "circle", "differs": "diamond"}


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one row for each group of numbers and one dot for each computed number, between lines at
    the tolerance.

    table: group, number (its description), published, ours (NaN: not computed, no dot), tolerance,
    verdict (agrees, differs, not computed), why.
    """
    known = table.dropna(subset=["ours"])
    distance = (
        ((known["ours"] - known["published"]) / known["tolerance"]).fillna(0.0).clip(-EDGE, EDGE)
    )  # 0 / 0 is no difference
    known = known.assign(distance=distance, group=known["group"].map(drawing.escape))
    figure = go.Figure()
    for verdict, part in known.groupby("verdict", sort=False):
        figure.add_scatter(
            x=part["distance"],
            y=part["group"],
            mode="markers",
            name=str(verdict),
            marker={
                "color": _COLOURS[str(verdict)],
                "symbol": _SYMBOLS[str(verdict)],
                "size": 9,
                "opacity": 0.7,
            },
            hovertext=[_hover(row) for row in part.itertuples()],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    lines = [
        drawing.Line(at, f"{at:+.0f} tolerance".replace("-", "−"), dash="dot") for at in (-1.0, 1.0)
    ]
    span = (-EDGE - 0.3, EDGE + 0.3)
    above = drawing.draw_vertical(figure, [*lines, drawing.Line(0.0, "as published")], span)
    groups = known["group"].unique()
    figure.update_layout(height=above + 70 + theme.ROW_PX * len(groups), margin_t=8 + above)
    figure.update_xaxes(title="ours minus published, in tolerances", range=span, zeroline=False)
    figure.update_yaxes(
        categoryorder="array", categoryarray=groups, autorange="reversed", automargin=True
    )
    return figure


def _hover(row: Any) -> str:
    within = f" ± {row.tolerance:g}" if row.tolerance else ""
    name = f"{row.group}<br>{drawing.escape(row.number, 120)}"
    words = f"{name}<br>published {row.published:g}{within}, ours {row.ours:.6g}: {row.verdict}"
    return f"{words}<br>{drawing.escape(row.why, 120)}" if row.why else words
