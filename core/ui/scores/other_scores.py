"""The tabs of the page Scores on genes and perturbations, the top of the list, and calibration."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.report.figures import macro_scores, reliability
from core.scoring.other_scores import METRICS
from core.scoring.run_scores import RunRows
from core.scoring.sentences import axes_text, interval_text, limits_text
from core.store.runs import Run
from core.texts import number_text, rows_behind
from core.ui.shared import loaders, tables
from core.ui.shared.linked import bind
from core.ui.shared.widgets import Number, show_captioned, show_numbers

_POSITIVE = {"DE": "an effect", "DIR": "up, among rows with an effect"}
_AUPRC = "Average precision, the area under the precision-recall curve. A random score has the base rate."


def show_macro(run: Run, rows: RunRows) -> None:
    """Show the means of the AUROCs of genes and of perturbations, beside the AUROC over all rows."""
    found = loaders.other_scores(run.id)
    for column, name in zip(st.columns(2, gap="medium"), METRICS, strict=True):
        with column:
            show_captioned(macro_scores.of_runs([rows], [found], name), f"macro-{name}")
    st.caption(
        "Each gene, or perturbation, with both classes weighs the same. Inside a gene, how often it was measured reveals "
        "nothing. The tab Slices lists each of them."
    )


def show_top(run: Run, rows: RunRows) -> None:
    """Show how good the top of the list is: the area under the precision-recall curve, and precision at k."""
    found, _ = loaders.other_scores(run.id)
    for column, (name, metric) in zip(st.columns(2, gap="medium"), METRICS.items(), strict=True):
        auprc = found.auprc[metric]
        with column:
            shown = auprc.estimate.shown
            below = (
                f"{limits_text(shown)} {axes_text(shown)}  \nbase rate {number_text(auprc.base_rate)}, "
                f"{rows_behind(name, auprc.estimate.n)}, positive: {_POSITIVE[name]}"
            )
            show_numbers(f"auprc-{name}", [Number(f"AUPRC of {name}", number_text(auprc.estimate.value), _AUPRC, below)], 1)
            table = pd.DataFrame(
                [(one.k, interval_text(one.precision.shown), interval_text(one.enrichment.shown)) for one in found.top[metric]],
                columns=["top", "precision", "enrichment"],
            )
            tables.show_table(
                table,
                f"top of {name}",
                {
                    "top": st.column_config.NumberColumn("top rows", format="localized"),
                    "precision": st.column_config.TextColumn(help="Rows tied at the end of the list count in part."),
                },
            )
    ranked = "" if rows.cells is None else "; a row's rank is its percentile inside its cell"
    st.caption(f"Precision: the share of positives among the top rows. Enrichment: precision over the base rate{ranked}.")


def show_calibration(run: Run, rows: RunRows) -> None:
    """Show how often rows of each predicted probability have an effect, or go up. AUROC does not depend on it."""
    if run.has_rank_scores:
        st.markdown(reliability.RANKS)
        return
    left, right = st.columns([0.62, 0.38])
    left.caption(
        "AUROC depends only on the order of the probabilities; calibration depends on their values. Grey: where the dots of a "
        "calibrated model lie in 95 of 100 data sets with as many perturbations and genes."
    )
    recalibrated = right.toggle(
        "Recalibrate on other perturbations",
        **bind("recalibrate"),
        help="A logistic curve, fitted on four fifths of the perturbations and applied to the rest. It uses the labels.",
    )
    for column, name in zip(st.columns(2, gap="medium"), reliability.NUMBERS, strict=True):
        with column:
            show_captioned(reliability.of_run(rows, name, recalibrated=recalibrated), f"reliability-{name}")
