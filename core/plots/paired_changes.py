"""Figure: the paired differences between two runs, with every interval; or those between groups of
rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from core.base.texts import estimate_text, quantity_text
from core.plots import drawing, forest_plot
from core.plots.forest_plot import Forest, Row, ends_of
from core.stats.power import LEVEL

_JUDGED = "perturbation and gene"  # the unit that decides: only it is drawn in colour
_NAMES = {
    "row": "by rows alone",
    "perturbation": "allowing for shared perturbations",
    "gene": "allowing for shared genes",
    "perturbation and gene": "allowing for shared perturbations and genes",
}


def figure(
    table: pd.DataFrame, detectable: float = np.nan, title: str = "change of the AUROC"
) -> Forest:
    """Return one row of the forest plot for each difference, grouped by metric, with the line of no
    difference.

    table: metric, unit (as in `_NAMES`, or a name), estimate, low, high (NaN if there is none), n,
    and optionally p_holm: a difference that is significant stands out. detectable: the smallest
    change of the mean that such runs can detect, in AUROC; NaN: unknown. title: of the value axis.
    """
    words = "" if np.isnan(detectable) else f"detectable ±{detectable:.3f}"
    rows = forest_plot.rows_in_blocks(
        table, "metric", _row, lambda part: words if part["metric"].iloc[0] == "mean" else ""
    )
    return Forest(rows, [drawing.Line(0.0, "no difference", dash="dot")], title)


def _row(row: Any) -> Row:
    interval, name = estimate_text(*ends_of(row), "+.3f"), _NAMES.get(row.unit, row.unit)
    p = getattr(row, "p_holm", None)
    words = interval if p is None else f"{interval}  Holm p {quantity_text(p)}"
    hover = (f"{row.metric}, {name}", words, drawing.rows_text(row.n, row.metric))
    is_shown = row.unit == _JUDGED if p is None else p < LEVEL
    return Row(name, ends_of(row), words, hover, is_shown, longest=len(name))
