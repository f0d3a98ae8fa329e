"""Targets, tab Training: the progress of a training, its curves, its data, and the form that starts one."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from core.actions import target_ranking
from core.actions.job_kinds.targets import KIND
from core.actions.workspace import Workspace
from core.fields.record import make, option_of
from core.plots import ranking_training
from core.target_ranking.models.base import ranking_models, read_manifest
from core.target_ranking.reading import SIMULATED, CellSource
from core.target_ranking.request import SplitChoice, TrainingOptions, TrainingRequest, missing_packages, request_of
from core.target_ranking.results import RankingFolder
from core.ui.shared import tables
from core.ui.shared.confirmation import confirm
from core.ui.shared.job_panel import watch_job
from core.ui.shared.linked import bind
from core.ui.shared.option_controls import show_more, show_settings, title_of
from core.ui.shared.shell import explain_errors
from core.ui.shared.widgets import as_text, show_empty, show_figure

QUICK = ("pca_knn", "random_forest", "xgboost")  # models that train on the simulated screen within a minute


def show_progress(workspace: Workspace, folder: RankingFolder | None) -> None:
    """Show the progress of a training that ends with an evaluation, or why it ended early; or offer one without any."""
    if folder is not None:
        show_empty("No evaluation yet: the training ends with one.")
        watch_job(workspace, KIND.name, folder.name)
        return
    show_empty(
        "No model was trained here. Target ranking is the reverse problem. Models read the expression of perturbed cells and "
        "rank all genes, so that the perturbed ones come first. It needs single cells with conditions (`A+ctrl`, `A+B`, `ctrl`) "
        "as `.h5ad`, not the labelled pairs on Data. Start with `perturbdesk targets train FILE`.",
        None if workspace.settings.read_only else lambda: _show_quick_start(workspace),
    )


def _show_quick_start(workspace: Workspace) -> None:
    quick = [name for name, model in ranking_models().items() if name in QUICK and not missing_packages(model)]
    st.caption(
        as_text(
            f"Or try it on a simulated screen of {SIMULATED.n_cells:,} cells, {SIMULATED.n_genes:,} genes and "
            f"{SIMULATED.n_perturbations + SIMULATED.n_doubles} conditions, with {', '.join(quick) or 'no model yet'}."
        )
    )
    if st.button("Train on a simulated screen", type="primary", icon=":material/play_arrow:", key="train-simulated"):
        _start(workspace, TrainingRequest("simulated", CellSource(), SplitChoice("hard"), {name: {} for name in quick}))


def _start(workspace: Workspace, request: TrainingRequest) -> None:
    with explain_errors(), st.spinner("Starting …"):
        folder = target_ranking.start_apart(workspace, request)
        confirm(f"{folder.name} is being trained in a separate process.")
        st.query_params["tab"] = "Training"
        st.rerun()


def show(workspace: Workspace, folder: RankingFolder | None) -> None:
    """Show the training of a target ranking, and the form that starts one."""
    if folder is None:
        show_progress(workspace, None)
        return
    watch_job(workspace, KIND.name, folder.name)
    _show_curves(folder)
    _show_origin(folder)
    if not workspace.settings.read_only:
        with st.expander("Train on other cells"):
            _show_form(workspace)


def _show_curves(folder: RankingFolder) -> None:
    history = folder.history()
    by_epoch = history.dropna(subset="epoch") if "epoch" in history else history.head(0)
    if not len(by_epoch):
        st.caption("None of these models is trained in epochs or rounds.")
    else:
        columns = st.columns(2)
        for column, (measure, words) in zip(columns, ranking_training.MEASURES.items(), strict=True):
            with column:
                caption = f"{folder.name} · ★ the chosen epoch or round · no interval"
                chart = ranking_training.figure(by_epoch, measure)
                show_figure(chart, by_epoch, f"targets-{measure}", words.capitalize(), caption)
    chosen = choices_table(history)
    if len(chosen):
        st.markdown("#### Chosen on validation cells")
        tables.show_table(chosen, "targets-choices")


def choices_table(history: pd.DataFrame) -> pd.DataFrame:
    """Return the best settings of each model that tried settings instead of epochs; empty without such a model."""
    tried = history[history["epoch"].isna()] if "epoch" in history else history
    if not len(tried):
        return tried
    groups = tried.groupby("model", sort=False)["validation_mrr"]
    best = tried.loc[groups.idxmax()].dropna(axis=1, how="all").round({"validation_mrr": 3})
    best = best[["model", *best.columns.drop("model")]].assign(tried=groups.size().to_numpy())
    return best.rename(columns={"validation_mrr": "validation MRR", "tried": "settings tried"})


def _show_origin(folder: RankingFolder) -> None:
    if not (folder.path / "data.json").is_file():
        return
    data, split, request = folder.data(), folder.split(), folder.request()
    facts = data["facts"]
    columns = ", ".join(f"{name} {value}" for name, value in facts.get("columns", {}).items() if value)
    chosen = f" · columns {columns}" if columns else ""
    counts = f"{facts['cells']:,} cells × {facts['genes']:,} genes"
    parts = f"{len(split.train):,} training conditions, {len(split.validation):,} for validation, {len(split.test):,} for testing"
    st.caption(as_text(f"{request.source.name} · {counts}{chosen} · split {split.name}: {parts}. {' '.join(data['notes'])}"))
    for name in folder.saved_models():
        for note in read_manifest(folder.model(name))["notes"]:
            st.caption(as_text(f"{name}: {note}"))


def _show_form(workspace: Workspace) -> None:
    """Show the form that starts a training. Files are given by path, since they may be too large for a browser."""
    chosen = show_settings(TrainingRequest, "", ["name"], defaults={"name": ""})
    path = st.text_input("Cells (.h5ad, a path on this machine; empty for a simulated screen)", key="address-cells")
    left, middle, right = st.columns(3)
    with left:
        chosen |= show_settings(TrainingRequest, "", ["kind"])
    with middle:
        chosen |= show_settings(TrainingRequest, "", ["seed"])
    known = [name for name, model in ranking_models().items() if not missing_packages(model)]
    usual, option = [each for each in known if each in QUICK] or known, option_of(TrainingOptions, "models")
    models = right.multiselect(title_of(option), known, usual, help=option.help, **bind("models"))
    chosen |= show_more(TrainingOptions, "", ("models", *chosen))
    if st.button(
        "Start training", type="primary", icon=":material/play_arrow:", key="start-targets", disabled=not chosen["name"]
    ):
        asked = make(TrainingOptions, {**chosen, "models": models})
        _start(workspace, request_of(asked.training, path.strip(), {model: {} for model in asked.models}))
