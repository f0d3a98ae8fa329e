"""Figure: the reliability of probabilities."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from core.plots import drawing, theme
from core.stats.calibration import reliability

COLUMNS = ("predicted", "observed", "low", "high", "n")


def table(positive: ArrayLike, probability: ArrayLike, bins: int = 10) -> tuple[pd.DataFrame, str]:
    """The reliability curve and its summary in words.

    positive: flags, probability: in [0, 1], both of shape (n_rows,). One row for each bin with rows; columns: predicted
    (mean probability), observed (share of positives) with its Wilson interval low and high, n.
    """
    found = reliability(positive, probability, bins)
    rows = [
        (one.mean_probability, one.observed.estimate, one.observed.low, one.observed.high, one.observed.n)
        for one in found.bins
        if one.observed.n
    ]
    ece, brier = drawing.number_text(found.ece), drawing.number_text(found.brier)
    summary = f"expected calibration error {ece}, Brier score {brier} (0 is perfect)"
    return pd.DataFrame(rows, columns=list(COLUMNS)), summary


def figure(table: pd.DataFrame, score: str) -> go.Figure:
    """Observed shares against predicted probabilities, with error bars, and the line of perfect calibration.

    table: predicted, observed, low, high (in [0, 1]) and n, one row for each bin. score: the probability's name, such as
    "P(DE)".
    """
    drawing.require_columns("reliability", table, COLUMNS)
    chart = go.Figure()
    line = {"color": theme.BASELINE, "dash": "dot", "width": 1.5}
    chart.add_shape(type="line", x0=0, y0=0, x1=1, y1=1, line=line, layer="between")
    chart.add_annotation(x=1, y=1, text="perfect", xanchor="left", xshift=4, showarrow=False, font_size=drawing.SMALL)
    chart.add_scatter(
        x=table["predicted"],
        y=table["observed"],
        mode="lines+markers",
        line={"color": theme.CHOSEN, "width": 1.5},
        marker={"color": theme.CHOSEN, "size": 8},
        error_y=drawing.error_bars(table, "observed", theme.CHOSEN),
        hovertext=[
            f"{drawing.estimate_text(*ends)}<br>{drawing.rows_text(n)}" for *ends, n in table[list(COLUMNS[1:])].to_numpy()
        ],
        hovertemplate="predicted %{x:.3f}, observed %{hovertext}<extra></extra>",
    )
    chart.update_layout(height=int(1.6 * theme.HEIGHT_PX), margin_r=60)
    chart.update_xaxes(title=f"predicted {score}, mean of a bin", range=[-0.03, 1.03], zeroline=False)
    chart.update_yaxes(showgrid=True, title="observed share", range=[-0.03, 1.03], zeroline=False)
    return chart
