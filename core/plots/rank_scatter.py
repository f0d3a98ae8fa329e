"""Figure: the ranks of the same rows in two runs."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, label_signs, theme

_FILLED = {"opacity": 0.75}
_STROKES = {"unknown": {"opacity": 1, "line": {"width": 1.5}}}  # an open sign must be visible on a dark page too


def figure(table: pd.DataFrame, a: str, b: str, score: str = "P(DE)") -> go.Figure:
    """Draw one mark for each row at its ranks in runs `a` and `b`, with rank 1 at the top right, and the line of equal ranks.

    table: pair_id, pert, gene, label (None if unknown), rank_a, rank_b, where 1 is the largest `score`; rows with NaN are
    not drawn. A mark's customdata is its pair_id.
    """
    known = table.assign(label=label_signs.label_column(table)).dropna(subset=["rank_a", "rank_b"])
    parts = {label: part for label in label_signs.SYMBOLS if len(part := known[known["label"] == label])}
    last = float(known[["rank_a", "rank_b"]].to_numpy(dtype=float).max(initial=1.0))
    chart = go.Figure()
    line = {"color": theme.BASELINE, "dash": "dot", "width": 1.5}
    chart.add_shape(type="line", x0=1, y0=1, x1=last, y1=last, line=line)
    chart.add_annotation(x=1, y=1, text="same rank", showarrow=False, xanchor="left", xshift=6, font_size=drawing.SMALL)
    for label, part in parts.items():
        _draw_marks(chart, label, part)
    label_signs.draw_key(chart, label_signs.counts_by_label(known["label"]))
    chart.update_layout(height=2 * theme.HEIGHT_PX, margin={"t": label_signs.ABOVE_PX, "r": 76})
    room = 0.02 * last
    chart.update_xaxes(title=_title(a, score), range=[last + room, drawing.BEFORE_FIRST], zeroline=False, tickformat=",")
    chart.update_yaxes(
        showgrid=True, title=_title(b, score), range=[last + room, drawing.BEFORE_FIRST], zeroline=False, tickformat=","
    )
    return chart


def _title(run: str, score: str) -> str:
    return f"rank of {score} in {drawing.escape(run, 40)} (1 is the largest)"


def _draw_marks(chart: go.Figure, label: str, part: pd.DataFrame) -> None:
    pairs = [f"{drawing.escape(pert)} ⟶ {drawing.escape(gene)}" for pert, gene in zip(part["pert"], part["gene"], strict=True)]
    # No WebGL, because some browsers lack it, and seven thousand marks are fast enough without it.
    chart.add_scatter(
        x=part["rank_a"],
        y=part["rank_b"],
        name=label,
        mode="markers",
        marker={
            "color": theme.LABEL_COLOURS[label],
            "symbol": label_signs.SYMBOLS[label],
            "size": 6,
            **_STROKES.get(label, _FILLED),
        },
        cliponaxis=False,  # the first rank is at the edge
        customdata=part["pair_id"],
        hovertext=pairs,
        hovertemplate=f"%{{hovertext}}<br>{label_signs.hover_words(label)}<br>rank %{{x:,}}, then %{{y:,}}<extra></extra>",
    )
