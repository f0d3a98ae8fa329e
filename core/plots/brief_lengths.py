"""Figure: the lengths of each role's briefs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing

_STRENGTHS = (1.0, 0.55, 0.2)  # opacity of each role's colour, from a letter to a paragraph


def figure(lengths: Sequence[Mapping[str, str | int]], what: str = "briefs") -> go.Figure:
    """Draw one stacked bar for each role with the shares of its briefs, or whatever is counted, in
    each class.

    lengths: of each role the role, and the number of briefs of up to three classes by their names,
    the shortest first.
    """
    table = pd.DataFrame(lengths)
    counts = table.drop(columns="role")
    shares = 100 * counts.div(counts.sum(axis=1), axis=0)
    figure = go.Figure()
    for name, strength in zip(counts.columns, _STRENGTHS, strict=True):
        figure.add_bar(
            y=list(table["role"]),
            x=shares[name],
            orientation="h",
            marker_color=[
                drawing.tint(drawing.ROLE_COLOURS.get(role, drawing.NONE), strength)
                for role in table["role"]
            ],
            textfont_color=drawing.INK_ON[strength > 0.6],
            text=[f"{name} {share:.0f}%" if share >= 8 else "" for share in shares[name]],
            textposition="inside",
            insidetextanchor="middle",
            customdata=counts[name],
            hovertemplate=f"%{{y}}: {name}, %{{customdata:,}} {what}, %{{x:.1f}}%<extra></extra>",
        )
    figure.update_layout(barmode="stack", height=70 + int(1.4 * drawing.ROW_PX) * len(table))
    figure.update_xaxes(title=f"share of {what}, %", range=[0, 100])
    figure.update_yaxes(autorange="reversed")
    return figure
