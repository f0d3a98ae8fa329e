"""The parts of the page Scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from core.base.result import Table
from core.features.scores import figures, slices
from core.features.scores.calibration import NUMBERS, RANKS, CalibrationResult
from core.features.scores.loaders import other_scores, run_controls, space_controls
from core.features.scores.slices import MeansResult
from core.features.scores.slicing import available_slices
from core.plots.printed import captioned
from core.scoring import sentences
from core.scoring.controls import Control
from core.scoring.other_scores import METRICS
from core.scoring.run_scores import RunRows, RunScore
from core.scoring.sentences import interval_text
from core.store.runs import Run
from core.ui import links
from core.ui.linked import bind, choose_one
from core.ui.loaders.scores import count_score
from core.ui.results import show_table
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
    kinds = available_slices(rows.frame)
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
    number = st.column_config.NumberColumn
    cost = "How much the slice lowers the whole score beyond its share of rows; costs sum to 0."
    clusters = (
        "The smaller of the numbers of perturbations and genes in the slice. It determines the"
        " width of the interval."
    )
    show_table(
        table.assign(rows=pd.Series(addresses, table.index, dtype=object)),
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


_INSIDE = (
    "the kNN without biology are scored inside the cells of doubly-disjoint folds, except the"
    " leave-one-out one"
)
_SPACES = (
    "A kNN whose vectors contain no biology scores 0.5 inside the cells of doubly-disjoint folds."
    " Leave-one-out does not: leaving out a row's own label biases equal weights against it."
)
_FINGERPRINT = (
    "These means use labels of other rows of the same gene or perturbation. No method may see those"
    " here, so a run need not beat them. In the challenge, a gene's unchanged rows were sampled to"
    " match its changed ones. The means then point away from the label and score high when"
    " reversed. They describe the sampling."
)


def show_baselines(rows: RunRows) -> None:
    """Show whether the run beats the controls without biology, the controls, and separately the
    fingerprint of the sampling."""
    with st.spinner("Permuting labels …"):
        found = run_controls(rows.run.id)
    st.markdown(as_text(found.sentence), help=sentences.explain(found.sentence))
    with st.spinner("Permuting vectors …"):
        both = replace(found, controls=(*found.controls, *space_controls(rows.run.id)))
    for axis in ("de", "dir"):
        show_captioned(captioned(replace(both, axis=axis), rows.run.name), f"controls-{axis}")
    controls, fingerprint = both.tables()
    _show_table(controls, "baselines", [both.own, *both.controls])
    st.caption(f"{as_text(both.scope)}; {_INSIDE}. {_SPACES}")
    with st.expander("What the sampling reveals"):
        st.caption(_FINGERPRINT)
        _show_table(fingerprint, "fingerprint of the sampling", found.fingerprint)


def _show_table(table: Table, name: str, controls: Sequence[Control]) -> None:
    """Show the scores of controls in a table, and a description of each. name: of the table's
    file."""
    show_table(pd.DataFrame(table.texts()), name)
    st.caption("  \n".join(f"**{as_text(each.name)}**: {as_text(each.about)}" for each in controls))


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
            show_table(
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
