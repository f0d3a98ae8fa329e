"""Figure: differences between rows where the answer to a rubric is yes and rows where it is no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from core.plots import drawing, forest_plot, theme
from core.plots.forest_plot import Row
from core.texts import estimate_text, quantity_text


def figure(blocks: Sequence[tuple[str, str, Sequence[tuple[str, Any, float]]]]) -> go.Figure:
    """Draw one block of the forest plot for each rubric, and the line of no difference.

    blocks: a rubric, its numbers of rows in words, and of each measure the name, the interval of
    the difference, and p after Holm (NaN if there is none). A difference that is significant is
    drawn in the chosen run's colour.
    """
    rows = []
    for rubric, counts, measures in blocks:
        rows.append(forest_plot.heading(rubric, counts))
        for measure, change, p_holm in measures:
            ends: tuple[float, float, float] = change.ends
            words, p = estimate_text(*ends, "+.3f"), f"Holm p {quantity_text(p_holm)}"
            colour = theme.CHOSEN if p_holm < 0.05 else None
            rows.append(Row(measure, ends, f"{words}  {p}", (f"{rubric}, {measure}", words, p), colour=colour))
    return forest_plot.draw_forest(rows, [drawing.Line(0.0, "no difference", dash="dot")], "rows with yes minus rows with no")
