"""Figure: the answers about one row with the original dossier and with a changed one, one dot per
answer."""

from __future__ import annotations

from typing import Final

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, theme

AGAIN, CHANGED, STANDS = "as it was", "changed", "in the run"
STYLES: Final = {
    AGAIN: (theme.BASELINE, "circle"),
    CHANGED: (theme.CHOSEN, "circle"),
    STANDS: (theme.WARNING, "diamond-open"),
}


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw two rows per number: answers with the unchanged dossier over the band of their range,
    and answers with the changed one.

    table: name (of the number), side (AGAIN, CHANGED, or STANDS: the answer in the run, drawn on
    the row of AGAIN), p (a probability). A number without changed answers has one row.
    """
    side = table["side"].replace(STANDS, AGAIN)
    table = table.assign(
        row=[
            f"<b>{drawing.escape(name)}</b> {each}"
            for name, each in zip(table["name"], side, strict=True)
        ]
    )
    chart = go.Figure()
    band = {"color": drawing.transparent(theme.WARNING, 0.2), "width": 0.8 * theme.ROW_PX}
    for name, part in table[table["side"] == AGAIN].groupby("name", sort=False):
        for row in table.loc[table["name"] == name, "row"].unique():
            chart.add_scatter(
                x=[part["p"].min(), part["p"].max()],
                y=[row] * 2,
                mode="lines",
                line=band,
                hoverinfo="skip",
            )
    for of_side, (colour, symbol) in STYLES.items():
        part = table[(table["side"] == of_side) & table["p"].notna()]
        marker = {"color": colour, "size": 11, "symbol": symbol, "opacity": 0.8}
        hover = f"{of_side}: %{{x:.1%}}<extra></extra>"
        chart.add_scatter(
            x=part["p"], y=part["row"], mode="markers", marker=marker, hovertemplate=hover
        )
    rows = table["row"].unique()
    chart.update_layout(height=64 + theme.ROW_PX * (2 + len(rows)))
    chart.update_xaxes(title="probability; ◇ in the original run", tickformat=".0%", zeroline=False)
    chart.update_yaxes(categoryorder="array", categoryarray=rows, autorange="reversed")
    return chart
