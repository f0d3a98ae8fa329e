"""Figure: the reliability of probabilities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from core.base.texts import estimate_text
from core.plots import drawing

COLUMNS = ("predicted", "observed", "low", "high", "band_low", "band_high", "n")
_BAND_PX = 16
_FEWEST = 5  # fewest rows of a bin with a band
_NAME_LENGTH = 24  # of a run beside its curve


def figure(table: pd.DataFrame, score: str, recalibrated: pd.DataFrame | None = None) -> go.Figure:
    """Draw observed shares against predicted probabilities, with the line of perfect calibration
    and a calibrated model's bands.

    table: `COLUMNS`, one row for each bin; of several runs with a column run, which are named lines
    without bands, the first in colour. score: the probability's name, such as "P(DE)".
    recalibrated: the same table for recalibrated probabilities, drawn hollow.
    """
    chart = go.Figure()
    drawing.draw_diagonal(chart, 0, 1)
    chart.add_annotation(
        x=1, y=1, text="perfect", xanchor="left", xshift=4, showarrow=False, font_size=drawing.SMALL
    )
    if "run" in table:
        _draw_runs(chart, table)
    else:
        # A bin with few rows has no band: it would cover the whole height.
        ends = table.loc[table["n"] >= _FEWEST, ["predicted", "band_low", "band_high"]].to_numpy()
        chart.add_scatter(
            x=[x for predicted, *_ in ends for x in (predicted, predicted, None)],
            y=[y for _, low, high in ends for y in (low, high, None)],
            mode="lines",
            line={"color": drawing.transparent(drawing.BASELINE, 0.35), "width": _BAND_PX},
            hoverinfo="skip",
        )
        _draw_curve(chart, table, "circle")
    if recalibrated is not None:
        _draw_curve(chart, recalibrated, "diamond-open")
    chart.update_layout(height=int(1.6 * drawing.HEIGHT_PX), margin_r=60)
    chart.update_xaxes(
        title=f"predicted {score}, mean of a bin", range=[-0.03, 1.03], zeroline=False
    )
    chart.update_yaxes(showgrid=True, title="observed share", range=[-0.03, 1.03], zeroline=False)
    return chart


def _draw_runs(chart: go.Figure, table: pd.DataFrame) -> None:
    first, *_ = table["run"]
    for run, bins in reversed(list(table.groupby("run", sort=False))):
        part = bins.sort_values("predicted")
        colour = drawing.CHOSEN if run == first else drawing.BASELINE
        chart.add_scatter(
            x=part["predicted"],
            y=part["observed"],
            mode="lines",
            line={"color": colour, "width": 1.5},
            hoverinfo="skip",
        )
        _draw_curve(chart, part, "circle", colour)
        last = part.iloc[-1]
        chart.add_annotation(
            x=last["predicted"],
            y=last["observed"],
            text=drawing.escape(run, _NAME_LENGTH),
            xanchor="right",
            yanchor="bottom",
            yshift=8,
            showarrow=False,
            font_size=drawing.SMALL,
        )


def _draw_curve(
    chart: go.Figure, table: pd.DataFrame, symbol: str, colour: str = drawing.CHOSEN
) -> None:
    """Draw the observed shares, larger for more rows; the hover shows the interval, the band and
    the number of rows."""
    chart.add_scatter(
        x=table["predicted"],
        y=table["observed"],
        mode="markers",
        marker={
            "color": colour,
            "size": 6 + 12 * np.sqrt(table["n"] / table["n"].max()),
            "symbol": symbol,
            "line": {"color": colour, "width": 2 if symbol.endswith("open") else 0},
        },
        hovertext=[
            f"{estimate_text(observed, low, high)}<br>a calibrated model: {band_low:.3f} to"
            f" {band_high:.3f}<br>{drawing.rows_text(n)}"
            for _, observed, low, high, band_low, band_high, n in table[list(COLUMNS)].to_numpy()
        ],
        hovertemplate="predicted %{x:.3f}, observed %{hovertext}<extra></extra>",
    )
