"""The parts of the page Scores."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.features.scores import figures, slices
from core.features.scores.calibration import NUMBERS
from core.plots.captioned import captioned
from core.scoring.run_scores import RunRows, RunScore
from core.store.runs import Run
from core.ui import links, results
from core.ui.linked import bind, choose_one
from core.ui.loaders.scores import count_score
from core.ui.widgets import as_text, show_captioned

# Kind of slice → the query parameter of Rows that shows its rows.
PARAMETERS = {
    slices.GENE_ROWS_KIND: "gene_rows",
    "gene's symbol": "symbol",
    "P(DE)": "p_de",
    "P(up | DE)": "p_up",
    "split": "split",
    "perturbation": "pert",
    "target gene": "gene",
}


def show_slices(run: Run, rows: RunRows, score: RunScore) -> None:
    """Show one kind of slice, the costliest first, as figure and table; each slice links to its
    rows."""
    left, right = st.columns([0.42, 0.58], vertical_alignment="bottom")
    kinds = slices.available_slices(rows.frame)
    titles = {kind: slices.KINDS.get(kind, kind) for kind in kinds}
    by = choose_one(left.selectbox, "by", "Slice by", titles, kinds[0]) or kinds[0]
    metric = (
        right.segmented_control("Metric", ["mean", "DE", "DIR"], default="mean", **bind("metric"))
        or "mean"
    )
    counts = count_score(run.id)
    result = slices.SlicesResult.of(rows, by, metric, score, counts)
    show_captioned(captioned(result, run.name), f"slices-{by}")
    names: list[str | list[str]] = [part.name for part in result.in_order]
    if by.startswith("P("):  # a range of probabilities is two values, its ends
        names = [part.name.split("–") for part in result.in_order]
    address, table = {"dataset": run.dataset, "run": run.id}, result.frame()
    addresses = [
        links.page_address("rows", **address, **{PARAMETERS[by]: n}) if by in PARAMETERS else None
        for n in names
    ]
    _show_slice_table(table.assign(rows=pd.Series(addresses, table.index, dtype=object)), metric)


def _show_slice_table(table: pd.DataFrame, metric: str) -> None:
    number = st.column_config.NumberColumn
    cost = "How much the slice lowers the whole score beyond its share of rows; costs sum to 0."
    clusters = (
        "The smaller of the numbers of perturbations and genes in the slice. It determines the"
        " width of the interval."
    )
    results.show_table(
        table,
        "slices",
        {
            "n": number("rows", format="localized"),
            "n_labelled": number("labelled rows", format="localized"),
            "estimate": number(metric, format="%.3f"),
            "low": number(format="%.3f"),
            "high": number(format="%.3f"),
            "clusters": number(format="localized", help=clusters),
            "cost": number(format="%+.4f", help=cost),
            "rows": st.column_config.LinkColumn("open", display_text="open"),
        },
        height="auto",
    )


def show_curves(rows: RunRows, score: RunScore) -> None:
    """Show the ROC curves of DE and DIR beside those of the no-biology baseline, and the
    probabilities of each class."""
    show_captioned(figures.curves_of_run(rows, score), "roc")
    for column, number in zip(st.columns(2), NUMBERS, strict=True):
        with column:
            show_captioned(figures.spread_of_run(rows, number), f"spread-{number}")
    show_ties(rows)


def show_ties(rows: RunRows) -> None:
    """Show how many values of the DE score are distinct, and how far breaking ties could change the
    score."""
    st.caption(as_text(figures.ties_sentence(rows)))
