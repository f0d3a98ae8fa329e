"""The tabs of the page Scores on genes and perturbations, the top of the list, and calibration.

The tab Genes and perturbations also shows cell-eval's table for the file of a run of predicted expression.
"""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.cells.cell_eval import CellEvaluation
from core.report.figures import macro_scores, reliability
from core.scoring.other_scores import METRICS
from core.scoring.run_scores import RunRows
from core.scoring.sentences import axes_text, interval_text, limits_text
from core.store.cell_evaluations import StoredEvaluation
from core.store.runs import Run
from core.texts import number_text, rows_behind
from core.types import PREDICTED_EXPRESSION, PREDICTED_EXPRESSION_RANKS
from core.ui.shared import loaders, tables
from core.ui.shared.linked import bind
from core.ui.shared.widgets import Number, as_text, show_captioned, show_numbers

_BEST = {"one": "1", "zero": "0", "none": "–"}
_GROUPS = (
    ("expression", ("pearson_delta", "mse", "mae")),
    ("distinguishing perturbations", ("discrimination_score", "pearson_edistance", "clustering_agreement")),
    ("differential expression", ("",)),
)


_POSITIVE = {"DE": "an effect", "DIR": "up, among rows with an effect"}
_AUPRC = "Average precision, the area under the precision-recall curve. A random score has the base rate."


def show_macro(run: Run, rows: RunRows) -> None:
    """Show the means of the AUROCs of genes and of perturbations, beside the AUROC over all rows."""
    found = loaders.other_scores(run.id)
    for column, name in zip(st.columns(2, gap="medium"), METRICS, strict=True):
        with column:
            show_captioned(macro_scores.of_run(rows, *found, name), f"macro-{name}")
    st.caption(
        "Each gene, or perturbation, with both classes weighs the same. Inside a gene, how often it was measured reveals "
        "nothing. The tab Slices lists each of them."
    )
    _show_cell_evaluation(run)


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


def _show_cell_evaluation(run: Run) -> None:
    """Show cell-eval's table for the file of a run; or how to make it. Nothing for other runs."""
    if run.method not in (PREDICTED_EXPRESSION, PREDICTED_EXPRESSION_RANKS):
        return
    st.markdown("#### cell-eval's table for the same file")
    found = loaders.cell_evaluation(run.id)
    if found is None:
        st.markdown(_how_to_make(run))
        return
    stored, evaluation = found
    st.caption(_caption(stored, evaluation))
    tables.show_table(
        table_of(evaluation),
        "cell-eval",
        {
            **{name: st.column_config.NumberColumn(format="%.4f") for name in ("mean", "SD", "lowest", "highest")},
            "n": st.column_config.NumberColumn(
                "perturbations", format="localized", help="The perturbations or genes for which cell-eval defines the metric."
            ),
            "best": st.column_config.TextColumn(help="The value of a perfect prediction; – for a count."),
        },
        height="content",
    )
    for text in (*evaluation.problems, *evaluation.left_out):
        st.caption(as_text(text))
    with st.expander("By perturbation"):
        tables.show_table(pd.DataFrame(evaluation.per_perturbation), "cell-eval by perturbation")


def table_of(evaluation: CellEvaluation) -> pd.DataFrame:
    """Return the lines of the table by question: about, metric, mean, SD, lowest, highest, n, best."""
    rows = [
        (_group_of(one.name), one.name, one.mean, one.sd, one.low, one.high, one.n, _BEST[one.best]) for one in evaluation.metrics
    ]
    order = [name for name, _ in _GROUPS]
    rows.sort(key=lambda row: order.index(row[0]))
    return pd.DataFrame(rows, columns=["about", "metric", "mean", "SD", "lowest", "highest", "n", "best"])


def _group_of(metric: str) -> str:
    return next(name for name, beginnings in _GROUPS if metric.startswith(beginnings))


def _caption(stored: StoredEvaluation, found: CellEvaluation) -> str:
    cells = f"{found.n_predicted:,} predicted and {found.n_real:,} real cells"
    drawn = f", at most {found.sample:,} drawn of each perturbation" if found.sample is not None else ""
    tested = "" if found.profile == "full" else "; too few cells per perturbation to test for differential expression"
    when = f", {stored.measured_at:%Y-%m-%d}" if stored.measured_at else ""
    return (
        f"cell-eval {found.version} on all genes of both files, against {as_text(stored.real_file)}{when}: "
        f"{found.n_perturbations:,} perturbations, {found.n_genes:,} genes, {cells}{drawn}{tested}. The scores at the top are "
        "AUROCs of the dataset's pairs against its labels."
    )


def _how_to_make(run: Run) -> str:
    file = str(run.spec.get("file", ""))
    if not file.endswith(".h5ad"):
        return "The run was made from a table of predicted changes, but cell-eval needs predicted cells."
    return (
        "Not compared yet. cell-eval, the field's own suite, compares the predicted cells with real ones. Its table is stored "
        f"with the run:\n\n```\nperturbdesk cells evaluate {file} --real REAL.h5ad --run {run.id}\n```"
    )
