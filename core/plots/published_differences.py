"""Figure: the distance of our numbers from the published ones, in units of the tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

EDGE = 3.0  # in tolerances; larger differences are drawn here, and the hover shows the value
_COLOURS = {"agrees": theme.CHOSEN, "differs": theme.WARNING}
_SYMBOLS = {"agrees": "circle", "differs": "diamond"}


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw one row for each group of numbers and one dot for each computed number, between lines at the tolerance.

    table: group, number (its description), published, ours (NaN: not computed, no dot), tolerance, verdict (agrees, differs, not
    computed), why.
    """
    groups = list(dict.fromkeys(table["group"]))
    drawn = table[table["ours"].notna()]
    figure = go.Figure()
    for verdict, part in drawn.groupby("verdict", sort=False):
        figure.add_scatter(
            x=[_distance(row) for row in part.itertuples()],
            y=[groups.index(group) for group in part["group"]],
            mode="markers",
            name=str(verdict),
            marker={"color": _COLOURS[str(verdict)], "symbol": _SYMBOLS[str(verdict)], "size": 9, "opacity": 0.7},
            hovertext=[_hover(row) for row in part.itertuples()],
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        )
    lines = [drawing.Line(at, f"{at:+.0f} tolerance".replace("-", "−"), dash="dot") for at in (-1.0, 1.0)]
    span = (-EDGE - 0.3, EDGE + 0.3)
    above = drawing.draw_vertical(figure, [*lines, drawing.Line(0.0, "as published")], span)
    names = [f"{drawing.escape(group)}  {_count_text(table[table['group'] == group])}" for group in groups]
    figure.update_layout(height=above + 70 + theme.ROW_PX * len(groups), margin_t=8 + above)
    figure.update_xaxes(title="ours minus published, in tolerances", range=span, zeroline=False)
    figure.update_yaxes(
        range=[len(groups) - 0.5, -0.5], tickvals=list(range(len(groups))), ticktext=names, zeroline=False, automargin=True
    )
    return figure


def _distance(row: Any) -> float:
    difference = row.ours - row.published
    if difference == 0:
        return 0.0
    return float(np.clip(difference / row.tolerance if row.tolerance else np.copysign(np.inf, difference), -EDGE, EDGE))


def _hover(row: Any) -> str:
    within = f" ± {row.tolerance:g}" if row.tolerance else ""
    name = f"{drawing.escape(row.group)}<br>{drawing.escape(row.number, 120)}"
    words = f"{name}<br>published {row.published:g}{within}, ours {row.ours:.6g}: {row.verdict}"
    return f"{words}<br>{drawing.escape(row.why, 120)}" if row.why else words


def _count_text(part: pd.DataFrame) -> str:
    computed = int(part["ours"].notna().sum())
    if not computed:
        return f"none of {len(part):,} computed"
    return f"{(part['verdict'] == 'agrees').sum():,} of {computed:,}"
