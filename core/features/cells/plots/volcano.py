"""Figure: the change of each gene by a perturbation, against its significance."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, label_signs, theme

_SMALLEST: Final = 1e-300  # least FDR: floats can hardly represent smaller values
_NAMED: Final = 6  # number of genes (lowest FDR first) shown with their names


def draw_volcano(table: pd.DataFrame, target: str, fdr: float, log2_fc: float) -> go.Figure:
    """Draw one mark for each tested gene: log2 fold change against −log10 of the FDR.

    Dashed lines are the thresholds of a change. target: the perturbed gene, always shown with its
    name. table: gene, log2_fc, fdr, label ("up", "down", "none", None for neither); rows with NaN
    (no test) are not drawn.
    """
    known = table.assign(label=label_signs.label_column(table)).dropna(subset=["log2_fc", "fdr"])
    known = known.assign(
        surely=-np.log10(known["fdr"].clip(lower=_SMALLEST)), name=known["gene"].map(drawing.escape)
    )
    chart = go.Figure()
    _draw_names(chart, known, target)
    hover = "log2 fold change %{x:.2f}, FDR %{customdata:.2g}"
    label_signs.draw_marks(chart, known, "log2_fc", "surely", "fdr", hover)
    line = {"color": theme.BASELINE, "dash": "dash", "width": 1}
    chart.add_shape(
        type="line",
        xref="paper",
        x0=0,
        x1=1,
        y0=-np.log10(fdr),
        y1=-np.log10(fdr),
        line=line,
        layer="below",
    )
    for at in (-log2_fc, log2_fc):
        chart.add_shape(
            type="line", yref="paper", y0=0, y1=1, x0=at, x1=at, line=line, layer="below"
        )
    chart.update_layout(
        height=int(1.5 * theme.HEIGHT_PX), margin={"t": label_signs.ABOVE_PX, "r": 40}
    )
    chart.update_xaxes(title="log2 fold change of the mean", zeroline=False)
    chart.update_yaxes(title="−log10 FDR", showgrid=True, rangemode="tozero", zeroline=False)
    return chart


def _draw_names(chart: go.Figure, known: pd.DataFrame, target: str) -> None:
    changed = known[known["label"].isin(["up", "down"])]
    surest = changed.nsmallest(_NAMED, "fdr")
    named = {
        row.gene: (row.log2_fc, row.surely, drawing.escape(row.gene, 20))
        for row in surest.itertuples()
    }
    for row in known[known["gene"] == target].itertuples():
        named[target] = (
            row.log2_fc,
            row.surely,
            f"{drawing.escape(target, 20)}, the target itself",
        )
    for x, y, text in named.values():
        chart.add_annotation(
            x=x, y=y, text=text, showarrow=False, xanchor="left", xshift=6, font_size=drawing.SMALL
        )
