"""Figure: the ranks of the same rows in two runs."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, label_signs


def figure(table: pd.DataFrame, a: str, b: str) -> go.Figure:
    """Draw one mark for each row at its ranks in runs `a` and `b`, with rank 1 at the top right,
    and the line of equal ranks.

    table: pair_id, pert, gene, label (None if unknown), rank_a, rank_b, where 1 is the largest DE
    score; rows with NaN are not drawn. A mark's customdata is its pair_id.
    """
    ranked = table.assign(label=label_signs.label_column(table)).dropna(subset=["rank_a", "rank_b"])
    ranked["name"] = [
        f"{drawing.escape(row.pert)} ⟶ {drawing.escape(row.gene)}" for row in ranked.itertuples()
    ]
    last = float(ranked[["rank_a", "rank_b"]].to_numpy(dtype=float).max(initial=1.0))
    chart = go.Figure()
    drawing.draw_diagonal(chart, 1, last)
    chart.add_annotation(
        x=1,
        y=1,
        text="same rank",
        showarrow=False,
        xanchor="left",
        xshift=6,
        font_size=drawing.SMALL,
    )
    label_signs.draw_marks(chart, ranked, "rank_a", "rank_b", "pair_id", "rank %{x:,}, then %{y:,}")
    chart.update_layout(height=2 * drawing.HEIGHT_PX, margin={"t": label_signs.ABOVE_PX, "r": 76})
    room = 0.02 * last
    chart.update_xaxes(
        title=_title(a), range=[last + room, drawing.BEFORE_FIRST], zeroline=False, tickformat=","
    )
    chart.update_yaxes(
        showgrid=True,
        title=_title(b),
        range=[last + room, drawing.BEFORE_FIRST],
        zeroline=False,
        tickformat=",",
    )
    return chart


def _title(run: str) -> str:
    return f"rank of the DE score in {drawing.escape(run, 40)} (1 is the largest)"
