"""The parts of the Breakdown page."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.plots import drawing, roc_curves, score_histograms
from core.plots import slice_scores as slices_plot
from core.scoring import run_scores, slices
from core.scoring.row_words import score_name
from core.scoring.run_scores import RunRows
from core.scoring.sentences import TWO_WAY, scored_text
from core.stats.calibration import tie_bounds
from core.stats.official_score import ScoreIntervals
from core.stats.ranks import round_for_ranks
from core.stats.scores_and_labels import outcome_of, tasks
from core.stats.slices import Slice
from core.store.runs import Run
from core.texts import NO_BIOLOGY
from core.ui.shared import links, loaders, tables
from core.ui.shared.linked import bind, choose_one
from core.ui.shared.widgets import as_text, show_figure

SHOWN = 15  # slices in the figure; the table has them all
GENE_ROWS = "gene's rows"  # the kind of slice by how often the gene was measured
# Kind of slice → the query parameter of Debates that shows its rows.
PARAMETERS = {
    GENE_ROWS: "gene_rows",
    "gene's symbol": "symbol",
    "P(DE)": "p_de",
    "P(up | DE)": "p_up",
    "split": "split",
    "perturbation": "pert",
    "target gene": "gene",
}
_KINDS = {GENE_ROWS: "how often the gene was measured"}  # on screen, where the kind's name does not do
# A slice of one cluster has the other axis alone.
INTERVALS = {"perturbation": "allowing for shared genes", "target gene": "allowing for shared perturbations"}


def show_slices(run: Run, rows: RunRows, score: ScoreIntervals) -> None:
    """Show one kind of slice, costliest first, as figure and table; each slice links to its rows."""
    left, right = st.columns([0.42, 0.58], vertical_alignment="bottom")
    kinds = slices.available_slices(rows.frame)
    by = choose_one(left.selectbox, "by", "Slice by", {kind: _KINDS.get(kind, kind) for kind in kinds}, kinds[0]) or kinds[0]
    metric = right.segmented_control("Metric", ["mean", "DE", "DIR"], default="mean", **bind("metric")) or "mean"
    scored_slices = slices.score_slices(rows, by)
    table = pd.DataFrame([_slice_line(run, by, part, metric) for part in scored_slices])
    table = table.sort_values("cost", ascending=False, na_position="last", kind="stable")
    overall = getattr(score, metric.lower()).value
    caption = (
        f"{run.name} · {len(table):,} slices of {int(table['n'].sum()):,} rows, the {min(SHOWN, len(table))} that cost most · "
        f"{metric} inside each slice, {scored_text(rows.scored)}, interval {INTERVALS.get(by, TWO_WAY)}"
    )
    count_only = getattr(loaders.count_score(run.id).whole, metric.lower()).value
    show_figure(
        slices_plot.figure(table.head(SHOWN), overall, count_only, drawing.METRICS[metric]),
        table.drop(columns="rows"),
        f"slices-{by}",
        f"{metric} by {_KINDS.get(by, by)}",
        caption,
    )
    _show_slice_table(table, metric)


def _show_slice_table(table: pd.DataFrame, metric: str) -> None:
    number = st.column_config.NumberColumn
    cost = "How much the slice lowers the whole score beyond its share of rows; costs sum to 0."
    clusters = "The smaller number of perturbations and genes in the slice, which decides how wide its interval is."
    tables.show_table(
        table,
        {
            "n": number(format="localized"),
            "n_labelled": number("labelled", format="localized"),
            "estimate": number(metric, format="%.3f"),
            "low": number(format="%.3f"),
            "high": number(format="%.3f"),
            "clusters": number(format="localized", help=clusters),
            "cost": number(format="%+.4f", help=cost),
            "rows": st.column_config.LinkColumn("rows", display_text="open"),
        },
        height="auto",
    )


def _describe_times_measured(times: str) -> str:
    return "measured once" if times == "1" else f"measured {times} times"


def _slice_line(run: Run, by: str, part: Slice, metric: str) -> dict[str, object]:
    scored = getattr(part, metric.lower())
    interval = scored.score.shown
    return {
        "slice": _describe_times_measured(part.name) if by == GENE_ROWS else part.name,
        "n": part.n,
        "n_labelled": part.n_labelled,
        "estimate": interval.estimate,
        "low": interval.low,
        "high": interval.high,
        "clusters": interval.clusters,
        "cost": scored.cost,
        "rows": links.page_address("debates", dataset=run.dataset, run=run.id, **{PARAMETERS[by]: _filter_value(by, part.name)})
        if by in PARAMETERS
        else None,
    }


def _filter_value(by: str, name: str) -> str | list[str]:
    """A slice's name as the value of its query parameter; a range of probabilities as its two ends."""
    return name.split("–") if by.startswith("P(") else name


def show_curves(run: Run, rows: RunRows) -> None:
    """Show the ROC curves of DE and DIR beside those of the no-biology baseline."""
    counts = run_scores.count_rows(rows)
    table = roc_curves.table(rows.labels, {run.name: rows.scores, NO_BIOLOGY: counts.scores}, rows.cells)
    caption = (
        f"{run.name} · {len(rows):,} rows, {scored_text(rows.scored)} · {NO_BIOLOGY}: how often genes were measured · "
        "intervals of the AUROCs are above"
    )
    show_figure(roc_curves.figure(table), table, "roc", "ROC curves of DE and DIR", caption)


def show_histograms(run: Run, rows: RunRows) -> None:
    """Show the probabilities of each class as histograms, and how many are tied."""
    outcome = outcome_of(rows.labels)
    parts = (
        ("P(DE)", rows.frame["p_de"], outcome.labelled, np.where(outcome.effect, "up or down", "none")),
        ("P(up | DE)", rows.frame["p_up_given_de"], outcome.directed, np.where(outcome.up, "up", "down")),
    )
    for column, (number, values, known, label) in zip(st.columns(2), parts, strict=True):
        keep, name = known & values.notna().to_numpy(), score_name(run, number)
        with column:
            if len(set(label[keep])) < 2:
                st.markdown(f"{name}: one class only, so there is nothing to compare.")
                continue
            table = pd.DataFrame({"label": label[keep], "value": values.to_numpy()[keep]})
            show_figure(
                score_histograms.figure(table, name),
                table,
                f"spread-{number}",
                f"{name} of each class",
                f"{run.name} · {len(table):,} rows with a label",
            )
    show_ties(run, rows)


def show_ties(run: Run, rows: RunRows) -> None:
    """Say how many values of the DE score are distinct, and how far breaking ties could move the score."""
    p_de = rows.frame["p_de"].to_numpy()
    distinct = len(np.unique(round_for_ranks(p_de[~np.isnan(p_de)])))
    sentence = f"{score_name(run)} takes {distinct:,} distinct values over {len(rows):,} rows of {as_text(run.name)}."
    outcome = outcome_of(rows.labels)
    de, _ = tasks(outcome, rows.scores)
    if outcome.effect.any() and (outcome.labelled & ~outcome.effect).any():
        cells = None if rows.cells is None else rows.cells[de.rows]
        bounds = tie_bounds(de.positive[de.rows], de.values[de.rows], cells)
        sentence += (
            f" DE is {bounds.auroc:.3f} with ties counted half; breaking all ties for or against the labels would make it "
        )
        sentence += f"{bounds.ceiling:.3f} or {bounds.floor:.3f}."
    st.caption(sentence)
