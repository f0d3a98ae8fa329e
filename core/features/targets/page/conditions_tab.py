"""Targets, tab Conditions: one test condition, its perturbed genes, and the genes that each model
ranks first."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from core.features.targets.evaluate import TOP
from core.features.targets.page.choices import ShownRanking
from core.runs.workspace import Workspace
from core.ui import results
from core.ui.linked import choose_one

HIT = "✓"


def show(_workspace: Workspace, shown: ShownRanking) -> None:
    """Show the drill-down of a test condition."""
    split = shown.folder.split()
    names = {condition: condition.replace("+", " + ") for condition in split.test}
    chosen = (
        choose_one(st.selectbox, "condition", "Test condition", names, split.test[0])
        or split.test[0]
    )
    genes = shown.saved.genes[shown.saved.genes["condition"] == chosen]
    st.markdown("#### Ranks of its perturbed genes")
    ranks = target_ranks(genes)
    ranks.insert(1, "trained", ranks["gene"].isin(split.trained_genes))
    results.show_table(ranks, "targets-ranks")
    st.caption(
        "Rankings of the condition's averaged cells. Genes with equal scores share their mean rank;"
        " so do genes without a score. A gene that is not a candidate has no rank."
    )
    st.markdown("#### Top genes of each model")
    results.show_table(first_genes(genes), "targets-first")
    st.caption(f"{HIT} a perturbed gene · the first {TOP} genes that a model can score")


def target_ranks(genes: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each perturbed gene, with its rank by each model; NaN outside the
    candidates.

    genes: model, gene, rank, is_target; of one condition.
    """
    targets = genes[genes["is_target"]].replace({"rank": {np.inf: np.nan}})
    return _by_model(targets, "gene", "rank")


def first_genes(genes: pd.DataFrame) -> pd.DataFrame:
    """Return the genes that each model ranks first, one column per model; perturbed genes are
    marked.

    genes: model, gene, is_target, in the order of the ranks.
    """
    first = genes.groupby("model", sort=False).head(TOP)
    places = first.groupby("model").cumcount() + 1
    texts = first["gene"] + first["is_target"].map({True: f" {HIT}", False: ""})
    return _by_model(first.assign(place=places, text=texts), "place", "text").fillna("")


def _by_model(table: pd.DataFrame, index: str, values: str) -> pd.DataFrame:
    """Return a row for each value of a column, and a column of values for each model."""
    wide = table.pivot(index=index, columns="model", values=values)
    return wide[table["model"].unique()].rename_axis(columns=None).reset_index()
