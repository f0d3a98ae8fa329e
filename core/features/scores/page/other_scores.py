"""The tabs of the page Scores on genes and perturbations, the top of the list, and calibration."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.features.scores.calibration import NUMBERS, RANKS, CalibrationResult
from core.features.scores.loaders import other_scores
from core.features.scores.means import MeansResult
from core.plots.captioned import captioned
from core.scoring.other_scores import METRICS
from core.scoring.run_scores import RunRows
from core.scoring.sentences import interval_text
from core.store.runs import Run
from core.ui import results
from core.ui.linked import bind
from core.ui.widgets import show_captioned


def show_macro(run: Run, rows: RunRows) -> None:
    """Show the means of the AUROCs of genes and of perturbations, beside the AUROC over all
    rows."""
    own, counts = other_scores(run.id)
    for column, name in zip(st.columns(2, gap="medium"), METRICS, strict=True):
        with column:
            result = MeansResult.of(rows, name, own, counts)
            show_captioned(captioned(result, run.name), f"macro-{name}")
    st.caption(
        "Each gene, or perturbation, with both classes weighs the same. Inside a gene, how often it"
        " was measured reveals nothing. The tab Slices lists each of them."
    )


def show_top(run: Run, rows: RunRows) -> None:
    """Show how good the top of the list is: precision at k."""
    scores, _ = other_scores(run.id)
    number = st.column_config.NumberColumn
    for column, name in zip(st.columns(2, gap="medium"), METRICS, strict=True):
        with column:
            table = pd.DataFrame(scores.top(name)).drop(columns="question")
            results.show_table(
                table.assign(
                    precision=[interval_text(value.shown) for value in table["precision"]]
                ),
                f"top of {name}",
                {
                    "top": number(f"top rows by {name}", format="localized"),
                    "precision": st.column_config.TextColumn(
                        help="Rows tied at the end of the list count in part."
                    ),
                    "base rate": number(format="%.3f", help="What a random order has."),
                },
            )
    ranked = "" if rows.cells is None else "; a row's rank is its percentile inside its cell"
    st.caption(
        "Precision: the share of positives among the top rows, of DE an effect, of DIR up among"
        f" rows with one{ranked}."
    )


def show_calibration(run: Run, rows: RunRows) -> None:
    """Show how often rows of each predicted probability have an effect, or go up. AUROC does not
    depend on it."""
    if run.has_rank_scores:
        st.markdown(RANKS)
        return
    left, right = st.columns([0.62, 0.38])
    left.caption(
        "AUROC depends only on the order of the probabilities; calibration depends on their values."
        " Grey: where the dots of a calibrated model lie in 95 of 100 data sets with as many"
        " perturbations and genes."
    )
    recalibrated = right.toggle(
        "Recalibrate on other perturbations",
        **bind("recalibrate"),
        help=(
            "A logistic curve, fitted on four fifths of the perturbations and applied to the rest."
            " It uses the labels."
        ),
    )
    for column, name in zip(st.columns(2, gap="medium"), NUMBERS, strict=True):
        with column:
            result = CalibrationResult.of(rows, name, recalibrated=recalibrated)
            show_captioned(captioned(result, run.name), f"reliability-{name}")
