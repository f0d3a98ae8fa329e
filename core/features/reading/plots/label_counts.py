"""Figure: the labels of a dataset's splits."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from core.plots import theme

_ORDER = ("up", "down", "de", "none", "unlabelled")


def figure(counts: pd.DataFrame) -> go.Figure:
    """Draw one stacked bar for each split, with the names of the labels on it.

    counts: one row for each split: split, and the numbers of rows up, down, de, none, unlabelled.
    """
    figure = go.Figure()
    for name in _ORDER:
        values = counts[name]
        if values.sum() == 0:
            continue
        key = "unknown" if name == "unlabelled" else name
        word = theme.LABEL_WORDS[key]
        figure.add_bar(
            y=counts["split"],
            x=values,
            orientation="h",
            marker_color=theme.LABEL_COLOURS[key],
            text=[
                f"{theme.LABEL_SIGNS[key]} {word} {value:,}" if value else "" for value in values
            ],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont_color="#FFFFFF",
            hovertemplate=f"%{{y}}: {word} %{{x:,}} rows<extra></extra>",
        )
    figure.update_layout(barmode="stack", height=60 + 2 * theme.ROW_PX * len(counts))
    figure.update_xaxes(title="rows")
    figure.update_yaxes(autorange="reversed")
    return figure
