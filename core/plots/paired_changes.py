"""Figure: the paired differences between two runs, with every interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.stats.comparison import Comparison
from core.texts import estimate_text

COLUMNS = ("metric", "unit", "estimate", "low", "high", "n")
# The unit of resampling, by the attribute of a change. The first one decides, and only it is drawn in colour.
UNITS = {"shown": "perturbation and gene", "row": "row", "pert": "perturbation", "gene": "gene"}
_JUDGED = UNITS["shown"]
_NAMES = {
    "row": "by rows alone",
    "perturbation": "allowing for shared perturbations",
    "gene": "allowing for shared genes",
    "perturbation and gene": "allowing for shared perturbations and genes",
}


def table(comparison: Comparison) -> pd.DataFrame:
    """Return the changes of a comparison; columns: metric (DE, DIR, mean), unit (as in `UNITS`), estimate, low, high, n."""
    parts = {"DE": comparison.de, "DIR": comparison.dir, "mean": comparison.mean}
    found = [(metric, words, getattr(part.change, unit)) for metric, part in parts.items() for unit, words in UNITS.items()]
    rows = [(metric, words, one.estimate, one.low, one.high, one.n) for metric, words, one in found]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def figure(table: pd.DataFrame, detectable: float = np.nan) -> go.Figure:
    """Draw one row of the forest plot for each difference, grouped by metric, with the line of no change.

    table: metric, unit (as in `UNITS`), estimate, low, high (NaN if there is none), n. detectable: the smallest change of the
    mean that such runs can detect, in AUROC; smaller changes are shaded in the rows of the mean. NaN shades nothing.
    """
    drawing.require_columns("paired_changes", table, COLUMNS)
    drawing.require_values("paired_changes", table, "unit", _NAMES)
    blocks = [
        [_header_row(str(metric), detectable), *map(_change_row, part.itertuples())]
        for metric, part in table.groupby("metric", sort=False)
    ]
    rows = pd.DataFrame([row for block in blocks for row in block])
    has_band = not np.isnan(detectable) and rows["metric"].eq("mean").any()
    chart = forest_plot.draw_forest(
        rows,
        [drawing.Line(0.0, "no change", dash="dot")],
        "change of the AUROC",
        (-detectable, detectable) if has_band else (),
    )
    if has_band:
        _shade(chart, rows, detectable)
    return chart


def _header_row(metric: str, detectable: float) -> dict[str, object]:
    words = f"detectable ±{detectable:.3f}" if metric == "mean" and not np.isnan(detectable) else ""
    empty = {"estimate": np.nan, "low": np.nan, "high": np.nan, "hover": "", "colour": theme.CHOSEN, "symbol": "circle"}
    return {"metric": metric, "name": f"<b>{drawing.escape(metric)}</b>", "words": words, **empty}


def _change_row(row: Any) -> dict[str, object]:
    interval = estimate_text(row.estimate, row.low, row.high, "+.3f")
    name, is_judged = _NAMES[row.unit], row.unit == _JUDGED
    return {
        "metric": row.metric,
        "name": f"<b>{name}</b>" if is_judged else name,
        "words": interval,
        "hover": f"{drawing.escape(row.metric)}, {name}<br>{interval}<br>{drawing.rows_text(row.n, row.metric)}",
        "colour": theme.CHOSEN if is_judged else theme.BASELINE,
        "symbol": "circle",
        "estimate": row.estimate,
        "low": row.low,
        "high": row.high,
    }


def _shade(chart: go.Figure, rows: pd.DataFrame, detectable: float) -> None:
    """Shade the changes that are too small to detect, behind the rows of the mean."""
    lines = rows.index[rows["metric"] == "mean"]
    chart.add_shape(
        type="rect",
        x0=-detectable,
        x1=detectable,
        y0=lines.min() - 0.5,
        y1=lines.max() + 0.5,
        fillcolor=drawing.transparent(theme.BASELINE, 0.2),
        line_width=0,
        layer="between",
    )
