"""Figure: the change of each gene by a perturbation, against its significance."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, label_signs

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
    line = {"color": drawing.BASELINE, "dash": "dash", "width": 1}
    chart.add_hline(-np.log10(fdr), line=line, layer="below")
    for at in (-log2_fc, log2_fc):
        chart.add_vline(at, line=line, layer="below")
    chart.update_layout(
        height=int(1.5 * drawing.HEIGHT_PX), margin={"t": label_signs.ABOVE_PX, "r": 40}
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


def draw_effect_counts(table: pd.DataFrame, least: int) -> go.Figure:
    """Draw stacked bars of up and down, the perturbation with the most effects first, and the line
    that a perturbation must reach to get rows.

    table: pert, up, down (numbers of genes). least: the number of effects that a perturbation
    needs.
    """
    ordered = table.assign(total=table["up"] + table["down"]).sort_values(
        ["total", "pert"], ascending=[False, True]
    )
    chart = go.Figure()
    names = [drawing.escape(pert) for pert in ordered["pert"]]
    for label in ("down", "up"):
        word = f"{drawing.LABEL_SIGNS[label]} {drawing.LABEL_WORDS[label]}"
        chart.add_bar(
            x=np.arange(1, len(ordered) + 1),
            y=ordered[label],
            name=label,
            marker_color=drawing.LABEL_COLOURS[label],
            hovertext=names,
            hovertemplate=f"%{{hovertext}}<br>{word} %{{y:,}} genes<extra></extra>",
        )
    kept = int((ordered["total"] >= least).sum())
    right = drawing.draw_horizontal(chart, drawing.Line(least, f"at least {least}"))
    chart.update_layout(barmode="stack", bargap=0.15 if len(ordered) <= 200 else 0, margin_r=right)
    chart.update_xaxes(
        title=f"perturbations, most effects first ({kept:,} of {len(ordered):,} have enough)",
        showgrid=False,
    )
    chart.update_yaxes(title="genes up or down", showgrid=True, tickformat=",")
    return chart


_HIGHEST: Final = 200.0  # percent; larger values are drawn here


def draw_knockdown(table: pd.DataFrame, most_remaining: float) -> go.Figure:
    """Draw one diamond for each perturbation, ordered by remaining expression, and a small circle
    for each guide.

    Guides above the dashed line count as failed. table: target, guide ("" for all cells of a
    perturbation), n_cells, remaining (share, NaN is not drawn).
    """
    known = table.dropna(subset=["remaining"])
    known = known.assign(has_failed=known["remaining"] > most_remaining)
    whole = known[known["guide"] == ""].sort_values(["remaining", "target"])
    place = {target: i + 1 for i, target in enumerate(whole["target"])}
    chart = go.Figure()
    for part, marker in (
        (known[known["guide"] != ""], {"symbol": "circle-open", "size": 6}),
        (whole, {"symbol": "diamond", "size": 8}),
    ):
        chart.add_scatter(
            x=part["target"].map(place),
            y=(100 * part["remaining"]).clip(upper=_HIGHEST),
            mode="markers",
            marker={
                "color": np.where(part["has_failed"], drawing.WARNING, drawing.CHOSEN),
                **marker,
            },
            hovertext=[_hover(row) for row in part.itertuples()],
            hovertemplate="%{hovertext}<extra></extra>",
        )
    right = drawing.draw_horizontal(
        chart, drawing.Line(100 * most_remaining, f"{100 * most_remaining:.0f}%")
    )
    chart.update_layout(margin_r=right)
    chart.update_xaxes(title="perturbations, least remaining first", showgrid=False, zeroline=False)
    chart.update_yaxes(
        title="target's remaining expression, % of controls",
        showgrid=True,
        rangemode="tozero",
        zeroline=False,
    )
    return chart


def _hover(row: Any) -> str:
    guide = f", guide {drawing.escape(row.guide)}" if row.guide else ""
    failed = ", failed" if row.has_failed else ""
    return (
        f"{drawing.escape(row.target)}{guide}<br>{row.n_cells:,} cells, {100 * row.remaining:.0f}%"
        f" remains{failed}"
    )
