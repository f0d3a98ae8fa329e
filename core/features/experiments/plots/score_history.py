"""Figure: the scores of all trials, in order, with the noise of a single score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.plots import curves


def draw_scores(steps: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Draw the scores in order, joined by a line, with the 95% noise of each.

    steps: each with step (a name), score, half width (None if unknown), and verdict (None for the
    score at the start). A confirmed step is a star.
    """
    table = pd.DataFrame(steps)
    score, half = table["score"], table["half width"].astype(float)
    # a name may occur twice
    names = [f"{place}. {name}" for place, name in enumerate(table["step"], 1)]
    table = table.assign(curve="score", x=names, y=score, low=score - half, high=score + half)
    return curves.figure(table.assign(is_best=table["verdict"] == "confirmed"), "", "score")
