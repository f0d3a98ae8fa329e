"""Figure: the rate of an answer to a rubric by role: from the judge, and corrected by labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row
from core.texts import estimate_text

_REACH = (0.0, 0.1)  # always visible: otherwise every tick of an axis for rates near 0 would read 0%
# Kind of rate → colour, name, and the meaning of n.
KINDS = {
    "raw": (theme.BASELINE, "as judged", "texts read"),
    "corrected": (theme.CHOSEN, "corrected", "labels"),
}


def figure(lines: Sequence[tuple[str, str, int, Any]], answer: str) -> go.Figure:
    """Draw one block of the forest plot for each role, with a row for each kind of rate.

    lines: role, kind (of `KINDS`), n, and the interval, or None for a row without a dot. answer:
    the answer whose rate is shown.
    """
    rows, heading = list[Row](), ""
    for role, kind, n, rate in lines:
        if role != heading:
            rows.append(forest_plot.heading(role))
        heading = role
        colour, name, counted = KINDS[kind]
        ends: tuple[float, float, float] = (math.nan, math.nan, math.nan) if rate is None else rate.ends
        words, numbers = estimate_text(*ends, ".1%"), f"{n:,} {counted}"
        rows.append(Row(name, ends, f"{words}  {numbers}", (f"{role}, {name}", words, numbers), colour=colour))
    chart = forest_plot.draw_forest(rows, [], f"share of texts: {drawing.escape(answer)}", reach=_REACH)
    return chart.update_xaxes(tickformat=".0%")
