"""Figure: labels of genes against their numbers of rows."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from core.plots import drawing, theme
from core.stats import validate as arrays
from core.stats.arrays import sum_by_group
from core.stats.intervals import wilson_interval
from core.stats.scores_and_labels import outcome_of
from core.texts import estimate_text

MOST: Final = 20  # rows of a gene; genes with more rows are counted here


def table(labels: ArrayLike, gene: ArrayLike) -> pd.DataFrame:
    """Return, for genes with 1, 2, … rows, the number of their rows and the share of these with an effect.

    labels: of shape (n_rows,); gene: names or codes of the same rows. One row for each number that occurs; columns:
    rows_per_gene ("1" to "20+"), genes, rows, with_effect, share_de with its Wilson interval low and high.
    """
    codes = arrays.codes("gene", gene)
    per_gene = np.bincount(codes)
    group = np.minimum(per_gene, MOST)[codes]
    n_genes = np.bincount(np.minimum(per_gene, MOST), minlength=MOST + 1)
    rows, hits = (sum_by_group(group, MOST + 1, flag).astype(int) for flag in (None, outcome_of(labels).effect))
    found = []
    for c in np.flatnonzero(rows):
        share = wilson_interval(int(hits[c]), int(rows[c]))
        counts = (int(n_genes[c]), int(rows[c]), int(hits[c]))
        found.append((f"{c}+" if c == MOST else str(c), *counts, share.estimate, share.low, share.high))
    return pd.DataFrame(found, columns=["rows_per_gene", "genes", "rows", "with_effect", "share_de", "low", "high"])


def figure(table: pd.DataFrame) -> go.Figure:
    """Draw the shares with an effect by rows per gene, and the share over all rows. table: from `table`."""
    percent = 100 * table[["share_de", "low", "high"]]
    chart = go.Figure()
    chart.add_scatter(
        x=np.arange(len(table)),
        y=percent["share_de"],
        mode="markers",
        marker={"color": theme.EFFECT, "symbol": "diamond", "size": 9},
        error_y=drawing.error_bars(percent, "share_de", theme.EFFECT),
        hovertext=[_hover(row) for row in table.itertuples()],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    overall = 100 * table["with_effect"].sum() / table["rows"].sum()
    top = max(overall, percent["high"].max())
    right = drawing.draw_horizontal(chart, drawing.Line(overall, f"all rows {overall:.1f}%"))
    chart.update_layout(margin_r=right)
    chart.update_xaxes(title="rows per gene", tickvals=np.arange(len(table)), ticktext=table["rows_per_gene"], zeroline=False)
    chart.update_xaxes(showgrid=False, range=[-0.6, len(table) - 0.4])
    chart.update_yaxes(title="rows with an effect, %", range=[-0.04 * top, 1.04 * top], showgrid=True, zeroline=False)
    return chart


def _hover(row: Any) -> str:
    of = "1 row" if row.rows_per_gene == "1" else f"{row.rows_per_gene} rows"
    share = estimate_text(100 * row.share_de, 100 * row.low, 100 * row.high, ".1f")
    return f"genes with {of}: {row.genes:,}<br>{drawing.rows_text(row.rows)}<br>with an effect {share} %"
