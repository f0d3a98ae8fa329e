"""The tabs of the Breakdown page that ask the rows in other ways than the score: inside genes, at the top, for calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from core.plots import drawing, reliability, score_ways
from core.scoring.other_scores import METRICS, ways_to_score
from core.scoring.run_scores import RunRows
from core.scoring.sentences import TWO_WAY, axes_text, interval_text, scored_text
from core.stats.arrays import Bools, Codes, Floats
from core.stats.calibration import Reliability
from core.stats.calibration import reliability as reliability_of
from core.stats.delong import Estimate
from core.stats.recalibration import recalibrate
from core.stats.scores_and_labels import outcome_of
from core.store.runs import Run
from core.texts import NO_BIOLOGY, number_text
from core.ui.shared import loaders, tables
from core.ui.shared.linked import bind
from core.ui.shared.number_box import Number, show_numbers
from core.ui.shared.score_box import range_text
from core.ui.shared.widgets import show_figure

_POSITIVE = {"DE": "an effect", "DIR": "up, among rows with an effect"}
_AUPRC = "Average precision, the area under the precision-recall curve. A random score has the base rate."
_FOLDS_SEED = 0


def show_ways(run: Run, rows: RunRows) -> None:
    """Show the AUROC of the same rows scored in several ways, most of which cannot be raised by how often a gene was measured."""
    name = st.segmented_control("Metric", list(METRICS), default="DE", **bind("way-metric")) or "DE"
    found, counts = (ways_to_score(one, METRICS[name]) for one in loaders.other_scores(run.id))
    table = pd.DataFrame(
        [
            (way.name, way.counted, *_ends(way.estimate), way.estimate.n, count.estimate.value)
            for way, count in zip(found, counts, strict=True)
        ],
        columns=list(score_ways.COLUMNS),
    )
    caption = (
        f"{run.name} · {name}, {scored_text(rows.scored)} · 95% intervals {TWO_WAY} · "
        f"◇ {NO_BIOLOGY}: how often genes were measured, scored in the same way"
    )
    show_figure(score_ways.figure(table, drawing.METRICS[name]), table, f"ways-{name}", f"{name} scored in other ways", caption)
    st.caption(
        "Within a gene, and with matched negatives, how often the gene was measured gives nothing away; how often the "
        "perturbation was may still, as the diamonds show. A mean over genes counts each gene with both classes equally; by "
        "pairs, genes with many rows count more."
    )


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    return estimate.value, estimate.shown.low, estimate.shown.high


def show_top(run: Run, rows: RunRows) -> None:
    """Show what the rows at the top of the list hold: the area under the precision-recall curve, precision at k."""
    found, _ = loaders.other_scores(run.id)
    for column, (name, metric) in zip(st.columns(2, gap="medium"), METRICS.items(), strict=True):
        auprc = found.auprc[metric]
        with column:
            shown = auprc.estimate.shown
            below = (
                f"{range_text(shown)} {axes_text(shown)}  \nbase rate {number_text(auprc.base_rate)}, "
                f"n = {auprc.estimate.n:,}, positive: {_POSITIVE[name]}"
            )
            show_numbers(f"auprc-{name}", [Number(f"AUPRC of {name}", number_text(auprc.estimate.value), _AUPRC, below)], 1)
            table = pd.DataFrame(
                [(one.k, interval_text(one.precision.shown), interval_text(one.enrichment.shown)) for one in found.top[metric]],
                columns=["top", "precision", "enrichment"],
            )
            tables.show_table(table, _top_columns())
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
        st.markdown("Rank scores are no probabilities: only their order counts, so there is nothing to calibrate.")
        return
    outcome = outcome_of(rows.labels)
    left, right = st.columns([0.62, 0.38])
    left.caption(
        "AUROC depends on the order of the probabilities alone; calibration depends on their values. Grey: where the dots of a "
        "calibrated model would be in 95 of 100 data sets with as many perturbations and genes."
    )
    recalibrated = right.toggle(
        "Recalibrate on other perturbations",
        **bind("recalibrate"),
        help="A logistic curve, fitted on four fifths of the perturbations and applied to the rest. It uses the labels.",
    )
    parts = (
        ("P(DE)", rows.frame["p_de"], outcome.labelled, outcome.effect),
        ("P(up | DE)", rows.frame["p_up_given_de"], outcome.directed, outcome.up),
    )
    for column, (name, values, known, positive) in zip(st.columns(2, gap="medium"), parts, strict=True):
        keep = known & values.notna().to_numpy()
        with column:
            if not keep.any():
                st.markdown(f"{name}: no row with a label.")
                continue
            axes = rows.pert[keep], rows.gene[keep]
            _show_reliability(run, name, positive[keep], values.to_numpy(dtype=np.float64)[keep], axes, recalibrated)


def _show_reliability(
    run: Run, name: str, positive: Bools, probability: Floats, axes: tuple[Codes, Codes], recalibrated: bool
) -> None:
    found = reliability_of(positive, probability, *axes)
    table, again = reliability.table(found), None
    caption = f"{run.name} · {found.n:,} rows · {reliability.summary(found)}"
    if recalibrated:
        curve = recalibrate(positive, probability, axes[0], _FOLDS_SEED)
        after: Reliability = reliability_of(positive, curve.probability, *axes)
        again = reliability.table(after)
        extreme = "too extreme" if curve.slope < 1 else "too cautious"
        caption += f" · ◇ recalibrated: {reliability.summary(after)}; slope {curve.slope:.2f}, predictions are {extreme}"
    drawn = table if again is None else pd.concat([table, again], keys=["as predicted", "recalibrated"], names=["probability"])
    chart = reliability.figure(table, name, again)
    show_figure(chart, drawn.reset_index(), f"reliability-{name}", f"Reliability of {name}", caption)
