"""Scores, tab Other ways to score: what cell-eval says of the file that a run of predicted expression was made from."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.cells.cell_eval import CellEvaluation
from core.store.cell_evaluations import StoredEvaluation
from core.store.runs import Run
from core.types import PREDICTED_EXPRESSION, PREDICTED_EXPRESSION_RANKS
from core.ui.shared import loaders, tables
from core.ui.shared.widgets import as_text

_BEST = {"one": "1", "zero": "0", "none": "–"}
_GROUPS = (
    ("expression", ("pearson_delta", "mse", "mae")),
    ("telling perturbations apart", ("discrimination_score", "pearson_edistance", "clustering_agreement")),
    ("differential expression", ("",)),
)


def show(run: Run) -> None:
    """Show cell-eval's table for the file of a run; how to make it where there is none. Nothing for other runs."""
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
                "perturbations", format="localized", help="For which cell-eval defines the metric."
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
    """The lines of the table, by what they ask: about, metric, mean, SD, lowest, highest, n, best."""
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
    tested = "" if found.profile == "full" else "; too few cells of a perturbation to test for differential expression"
    when = f", {stored.measured_at:%Y-%m-%d}" if stored.measured_at else ""
    return (
        f"cell-eval {found.version} on all genes of both files, against {as_text(stored.real_file)}{when}: "
        f"{found.n_perturbations:,} perturbations, {found.n_genes:,} genes, {cells}{drawn}{tested}. The scores at the top are "
        "AUROCs of the dataset's pairs against its labels."
    )


def _how_to_make(run: Run) -> str:
    file = str(run.spec.get("file", ""))
    if not file.endswith(".h5ad"):
        return "The run was made from a table of predicted changes; cell-eval compares predicted cells."
    return (
        "Not compared yet. cell-eval, the field's own suite, compares the predicted cells with real ones; its table is kept with "
        f"the run:\n\n```\nperturbdesk cells evaluate {file} --real REAL.h5ad --run {run.id}\n```"
    )
