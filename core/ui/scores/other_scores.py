"""The tabs of the page Scores that ask the rows in other ways than the score: inside genes, at the top, for calibration."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from core.report.figures import reliability, score_ways
from core.scoring.other_scores import METRICS
from core.scoring.run_scores import RunRows
from core.scoring.sentences import axes_text, interval_text
from core.store.runs import Run
from core.texts import number_text, rows_behind
from core.ui.scores import cell_evaluation
from core.ui.shared import loaders, tables
from core.ui.shared.linked import bind
from core.ui.shared.number_box import Number, show_numbers
from core.ui.shared.score_box import range_text
from core.ui.shared.widgets import show_captioned

_POSITIVE = {"DE": "an effect", "DIR": "up, among rows with an effect"}
_AUPRC = "Average precision, the area under the precision-recall curve. A random score has the base rate."
_FOLDS_SEED = 0


def show_ways(run: Run, rows: RunRows) -> None:
    """Show the AUROC of the same rows scored in several ways, most of which cannot be raised by how often a gene was measured."""
    name = st.segmented_control("Metric", list(METRICS), default="DE", **bind("way-metric")) or "DE"
    show_captioned(score_ways.of_run(rows, *loaders.other_scores(run.id), name), f"ways-{name}")
    st.caption(
        "Within a gene, and with matched negatives, how often the gene was measured gives nothing away. How often the "
        "perturbation was measured still may, as the diamonds show. A mean over genes counts each gene with both classes "
        "equally; by pairs, genes with many rows count more."
    )
    cell_evaluation.show(run)


def show_top(run: Run, rows: RunRows) -> None:
    """Show what the rows at the top of the list hold: the area under the precision-recall curve, precision at k."""
    found, _ = loaders.other_scores(run.id)
    for column, (name, metric) in zip(st.columns(2, gap="medium"), METRICS.items(), strict=True):
        auprc = found.auprc[metric]
        with column:
            shown = auprc.estimate.shown
            below = (
                f"{range_text(shown)} {axes_text(shown)}  \nbase rate {number_text(auprc.base_rate)}, "
                f"{rows_behind(name, auprc.estimate.n)}, positive: {_POSITIVE[name]}"
            )
            show_numbers(f"auprc-{name}", [Number(f"AUPRC of {name}", number_text(auprc.estimate.value), _AUPRC, below)], 1)
            table = pd.DataFrame(
                [(one.k, interval_text(one.precision.shown), interval_text(one.enrichment.shown)) for one in found.top[metric]],
                columns=["top", "precision", "enrichment"],
            )
            tables.show_table(table, f"top of {name}", _top_columns())
    ranked = "" if rows.cells is None else "; a row's rank is its percentile inside its cell"
    st.caption(f"Precision: the share of positives among the top rows. Enrichment: precision over the base rate{ranked}.")


def _top_columns() -> dict[str, Any]:
    return {
        "top": st.column_config.NumberColumn("top rows", format="localized"),
        "precision": st.column_config.TextColumn(help="Rows that tie at the end of the list count in part."),
    }


def show_calibration(run: Run, rows: RunRows) -> None:
    """Show how often rows of each predicted probability have an effect, or go up; AUROC does not depend on it."""
    if run.has_rank_scores:
        st.markdown(reliability.RANKS)
        return
    left, right = st.columns([0.62, 0.38])
    left.caption(
        "AUROC depends on the order of the probabilities alone; calibration depends on their values. In grey, the dots of a "
        "calibrated model in 95 of 100 data sets with as many perturbations and genes."
    )
    recalibrated = right.toggle(
        "Recalibrate on other perturbations",
        **bind("recalibrate"),
        help="A logistic curve, fitted on four fifths of the perturbations and applied to the rest. It uses the labels.",
    )
    for column, name in zip(st.columns(2, gap="medium"), reliability.NUMBERS, strict=True):
        with column:
            show_captioned(reliability.of_run(rows, name, recalibrated=recalibrated), f"reliability-{name}")
