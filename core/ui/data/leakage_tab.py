"""The Leakage tab of the Data page: how far row counts alone predict the labels, and which symbols splits share."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.plots import gene_row_counts
from core.stats.count_controls import LeakageAudit
from core.ui.shared import loaders
from core.ui.shared.score_box import range_text
from core.ui.shared.shell import PageContext
from core.ui.shared.widgets import show_empty, show_figure


def show(context: PageContext) -> None:
    """Show the leakage audit of the chosen dataset, and how many rows its genes have."""
    if context.dataset is None:
        show_empty("There is no dataset yet.")
        return
    rows = loaders.dataset_rows(context.dataset.id)
    if rows["label"].isna().all():
        show_empty("This dataset has no labels here, so there is nothing to predict from row counts.")
        return
    _show_audit(loaders.leakage_audit(context.dataset.id))
    known = rows[rows["label"].notna()]
    table = gene_row_counts.table(known["label"], known["gene"])
    caption = f"{context.dataset.name} · {len(known):,} labelled rows · 95% Wilson intervals by rows"
    show_figure(gene_row_counts.figure(table), table, "gene-counts", caption)
    _show_row_counts(rows)


def _show_audit(result: LeakageAudit) -> None:
    """Show what row counts alone score, and how many symbols labelled and other rows share."""
    st.markdown(
        "How far row counts alone predict an effect. Such a score is a control to compare a model with, never an input to one."
    )
    first, second, third, fourth = st.columns(4)
    first.metric(
        "count-only DE", f"{result.count_only_de.value:.3f}", help="AUROC of a score made from row counts. Chance is 0.5."
    )
    first.caption(range_text(result.count_only_de.shown))
    second.metric("without single-row genes", f"{result.count_only_de_without_singletons.value:.3f}")
    second.caption(range_text(result.count_only_de_without_singletons.shown))
    third.metric(
        "rarer gene → up, DIR",
        f"{result.rarer_up_dir.value:.3f}",
        help="AUROC of the rule: the fewer rows a gene has, the more likely it goes up.",
    )
    third.caption(range_text(result.rarer_up_dir.shown))
    fourth.metric(
        "shared by labelled and other rows",
        f"{result.shared_perts} + {result.shared_genes}",
        help="Perturbations + target genes.",
    )
    fourth.caption("perturbations + genes")
    st.caption(
        f"{result.singletons:,} labelled rows are their gene's only row; {result.singletons_none:,} of them are labelled none. "
        "Intervals by perturbations and genes."
    )


def _show_row_counts(rows: pd.DataFrame) -> None:
    """Show per split how many genes have how many rows."""
    st.markdown("**Genes by their number of rows**")
    counts = rows.groupby(["split", "gene"]).size().reset_index(name="rows")
    counts["rows of the gene"] = counts["rows"].clip(upper=20).astype(str).where(counts["rows"] < 20, "20 or more")
    table = counts.pivot_table(index="split", columns="rows of the gene", values="gene", aggfunc="count", fill_value=0)
    order = sorted(table.columns, key=lambda name: int(name.split()[0]))
    st.dataframe(table[order], height="content")
