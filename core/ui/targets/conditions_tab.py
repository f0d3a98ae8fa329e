"""Targets, tab Conditions: one test condition, its perturbed genes, and the genes that each model ranks first."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.actions.workspace import Workspace
from core.target_ranking.evaluate import TOP
from core.target_ranking.expression import targets_in
from core.target_ranking.results import SavedEvaluation
from core.target_ranking.splits import Split
from core.texts import number_text
from core.ui.shared import tables
from core.ui.shared.linked import choose_one
from core.ui.shared.widgets import as_text, show_empty, symbol_text
from core.ui.targets import training_tab
from core.ui.targets.choices import ShownRanking

FOUND = "✓"


def show(workspace: Workspace, shown: ShownRanking | None) -> None:
    """Show the drill-down of a test condition."""
    if shown is None:
        show_empty("No model was trained here; see the tab Table.")
        return
    if shown.saved is None or shown.split is None:
        training_tab.show_unevaluated(workspace, shown.folder)
        return
    names = {condition: condition.replace("+", " + ") for condition in shown.split.test}
    chosen = choose_one(st.selectbox, "condition", "Test condition", names, shown.split.test[0]) or shown.split.test[0]
    _show_targets(shown.split, chosen)
    genes = shown.saved.genes[shown.saved.genes["condition"] == chosen]
    st.markdown("#### Ranks of its perturbed genes")
    tables.show_table(target_ranks(genes), "targets-ranks")
    st.caption(
        "Rankings of the condition's averaged cells. Genes with equal scores share their mean rank; so do genes without a score."
    )
    st.markdown("#### Top genes of each model")
    tables.show_table(first_genes(genes), "targets-first")
    st.caption(f"{FOUND} a perturbed gene · the first {TOP} genes that a model can score")
    st.markdown("#### All test conditions")
    tables.show_table(best_ranks(shown.saved, shown.split), "targets-conditions")
    st.caption("The best rank of a perturbed gene by model, averaged cells.")


def _show_targets(split: Split, condition: str) -> None:
    parts = []
    for gene in targets_in(condition):
        alone = "perturbed in training" if gene in split.trained_genes else "never perturbed in training"
        parts.append(f"{symbol_text(gene)} ({alone})")
    st.markdown("Perturbed: " + ", ".join(parts))


def target_ranks(genes: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each perturbed gene of a condition, with its rank by each model as text.

    genes: model, gene, rank, is_target, of one condition.
    """
    targets = genes[genes["is_target"]]
    wide = targets.pivot(index="gene", columns="model", values="rank").reset_index().rename_axis(columns=None)
    models = list(dict.fromkeys(targets["model"]))
    for model in models:
        wide[model] = [rank_text(rank) for rank in wide[model]]
    return wide[["gene", *models]]


def first_genes(genes: pd.DataFrame) -> pd.DataFrame:
    """Return the genes that each model ranks first, one column per model; perturbed genes are marked.

    genes: as in `target_ranks`.
    """
    columns = {}
    for model, rows in genes.groupby("model", sort=False):
        first = rows.head(TOP)
        columns[str(model)] = [
            f"{gene} {FOUND}" if hit else gene for gene, hit in zip(first["gene"], first["is_target"], strict=True)
        ]
    n = max(map(len, columns.values()), default=0)
    table = pd.DataFrame({model: [*names, *[""] * (n - len(names))] for model, names in columns.items()})
    table.insert(0, "place", range(1, n + 1))
    return table


def best_ranks(saved: SavedEvaluation, split: Split) -> pd.DataFrame:
    """Return one row for each test condition: its name, how many of its genes were trained, the best rank by each model."""
    targets = saved.genes[saved.genes["is_target"]]
    best = targets.groupby(["condition", "model"], sort=False)["rank"].min().unstack().reset_index().rename_axis(columns=None)
    models = list(dict.fromkeys(targets["model"]))
    for model in models:
        best[model] = [rank_text(rank) for rank in best[model]]
    of_condition = {name: targets_in(name) for name in best["condition"]}
    trained = [sum(gene in split.trained_genes for gene in of_condition[name]) for name in best["condition"]]
    best.insert(
        1, "genes trained", [f"{n} of {len(of_condition[name])}" for n, name in zip(trained, best["condition"], strict=True)]
    )
    return best[["condition", "genes trained", *models]]


def rank_text(rank: float) -> str:
    """Return a mid-rank as text; a gene that is not a candidate has none."""
    if rank == float("inf"):
        return "not a candidate"
    return as_text(number_text(rank, ",.0f" if rank == int(rank) else ",.1f")).replace("\\", "")
