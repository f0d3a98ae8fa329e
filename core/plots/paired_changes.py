"""Is one run better than another: paired differences with every interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.stats.comparison import Comparison

COLUMNS = ("metric", "unit", "estimate", "low", "high", "n")
UNITS = {"row": "row", "pert": "perturbation", "gene": "gene", "two_way": "both axes"}


def table(comparison: Comparison) -> pd.DataFrame:
    """The changes of a comparison: metric (DE, DIR, mean), unit (as in `UNITS`), estimate, low, high, n."""
    parts = {"DE": comparison.de, "DIR": comparison.dir, "mean": comparison.mean}
    found = [(metric, words, getattr(part.change, unit)) for metric, part in parts.items() for unit, words in UNITS.items()]
    rows = [(metric, words, one.estimate, one.low, one.high, one.n) for metric, words, one in found]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def figure(table: pd.DataFrame, detectable: float = np.nan) -> go.Figure:
    """One line of the plot a difference, under the name of its metric, beside "no change".

    table: metric, unit, estimate, low, high (NaN where there is none), n. detectable: the smallest change of the mean
    that such a pair of runs would show, in AUROC; smaller ones are shaded in the rows of the mean. NaN shades nothing.
    """
    drawing.require_columns("changes", table, COLUMNS)
    blocks = [
        [_header(str(metric), detectable), *map(_row, part.itertuples())] for metric, part in table.groupby("metric", sort=False)
    ]
    rows = pd.DataFrame([row for block in blocks for row in block])
    shaded = not np.isnan(detectable) and rows["metric"].eq("mean").any()
    chart = forest_plot.draw(
        rows,
        [drawing.Line(0.0, "no change", dash="dot")],
        "change of the AUROC",
        (-detectable, detectable) if shaded else (),
    )
    if shaded:
        _shade(chart, rows, detectable)
    return chart


def _header(metric: str, detectable: float) -> dict[str, object]:
    words = f"detectable ±{detectable:.3f}" if metric == "mean" and not np.isnan(detectable) else ""
    nothing = {"estimate": np.nan, "low": np.nan, "high": np.nan, "hover": "", "colour": theme.CHOSEN, "symbol": "circle"}
    return {"metric": metric, "name": f"<b>{drawing.plain(metric)}</b>", "words": words, **nothing}


def _row(row: Any) -> dict[str, object]:
    told = drawing.with_interval(row.estimate, row.low, row.high, "+.3f")
    return {
        "metric": row.metric,
        "name": f"by {drawing.plain(row.unit)}",
        "words": told,
        "hover": f"{drawing.plain(row.metric)}, by {drawing.plain(row.unit)}<br>{told}<br>{drawing.rows_text(row.n)}",
        "colour": theme.CHOSEN,
        "symbol": "circle",
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
    }


def _shade(chart: go.Figure, rows: pd.DataFrame, detectable: float) -> None:
    """The band of changes too small to be seen, behind the rows of the mean."""
    lines = rows.index[rows["metric"] == "mean"]
    chart.add_shape(
        type="rect",
        x0=-detectable,
        x1=detectable,
        y0=lines.min() - 0.5,
        y1=lines.max() + 0.5,
        fillcolor=drawing.faint(theme.BASELINE, 0.2),
        line_width=0,
        layer="between",
    )
