"""Targets, tab Training: the progress of a training, its curves, its data, and the form that starts
one."""

from __future__ import annotations

from typing import Final

import pandas as pd
import streamlit as st

from core.base.fields.record import make, option_of
from core.features.targets import actions as target_ranking
from core.features.targets.jobs import KIND
from core.features.targets.models.base import ranking_models
from core.features.targets.request import (
    TrainingOptions,
    TrainingRequest,
    missing_packages,
    request_of,
)
from core.features.targets.results import RankingFolder
from core.plots import drawing
from core.runs.workspace import Workspace
from core.ui.confirmation import confirm
from core.ui.job_panel import watch_job
from core.ui.linked import bind
from core.ui.option_controls import show_more, show_settings, title_of
from core.ui.shell import explain_errors
from core.ui.widgets import as_text, show_empty, show_figure

# models that train on the simulated screen within a minute
QUICK = ("pca_knn", "random_forest", "xgboost")
MEASURES: Final = {
    "train_loss": "loss on training cells",
    "validation_mrr": "MRR on validation cells",
}


def show(workspace: Workspace, folder: RankingFolder | None) -> None:
    """Show the training of a target ranking, and the form that starts one."""
    if folder is None:
        show_empty(
            "No model was trained here. Target ranking is the reverse problem. Models read the"
            " expression of perturbed cells and rank all genes, so that the perturbed ones come"
            " first. It needs single cells with conditions (`A+ctrl`, `A+B`, `ctrl`) as `.h5ad`,"
            " not the labelled pairs on Data."
        )
    else:
        watch_job(workspace, KIND.name, folder.name)
        _show_curves(folder)
        if (folder.path / "data.json").is_file():
            split = folder.split()
            parts = (
                f"{len(split.train):,} training conditions, {len(split.validation):,} for"
                " validation"
            )
            parts += f", {len(split.test):,} for testing"
            notes = " ".join(folder.data().notes)
            st.caption(
                as_text(f"{folder.request().source.name} · split {split.name}: {parts}. {notes}")
            )
            for name, manifest in folder.manifests().items():
                for note in manifest["notes"]:
                    st.caption(as_text(f"{name}: {note}"))
    if not workspace.settings.read_only:
        with st.expander("Train on cells", expanded=folder is None):
            _show_form(workspace)


def _show_curves(folder: RankingFolder) -> None:
    """Show the measures of the models that are trained in epochs or rounds."""
    histories = {
        name: pd.DataFrame(manifest["history"]) for name, manifest in folder.manifests().items()
    }
    in_epochs = [
        history.assign(model=name) for name, history in histories.items() if "epoch" in history
    ]
    if not in_epochs:
        return
    history = pd.concat(in_epochs, ignore_index=True)
    best = history.groupby("model")["validation_mrr"].idxmax()
    history = history.assign(
        curve=history["model"], x=history["epoch"], is_best=history.index.isin(best)
    )
    for column, (measure, words) in zip(st.columns(2), MEASURES.items(), strict=True):
        with column:
            chart = drawing.figure(history.assign(y=history[measure]), "epoch or round", words)
            caption = f"{folder.name} · ★ the chosen epoch or round · no interval"
            show_figure(chart, history, f"targets-{measure}", words.capitalize(), caption)


def _show_form(workspace: Workspace) -> None:
    """Show the form that starts a training. Files are given by path, since they may be too large
    for a browser."""
    chosen = show_settings(TrainingRequest, "", ["name"])
    path = st.text_input(
        "Cells (.h5ad, a path on this machine; empty for a simulated screen)", key="address-cells"
    )
    chosen |= show_settings(TrainingRequest, "", ["kind", "seed"], columns=2)
    known = [name for name, model in ranking_models().items() if not missing_packages(model)]
    usual, option = (
        [each for each in known if each in QUICK] or known,
        option_of(TrainingOptions, "models"),
    )
    models = st.multiselect(
        title_of(option), known, usual, help=option.about.help, **bind("models")
    )
    chosen |= show_more(TrainingOptions, "", ("models", *chosen))
    if st.button(
        "Start training", type="primary", icon=":material/play_arrow:", key="start-targets"
    ):
        with explain_errors(), st.spinner("Starting …"):
            asked = make(TrainingOptions, {**chosen, "models": models})
            started = target_ranking.start_apart(workspace, request_of(asked, path.strip()))
            st.query_params["tab"] = "Training"
            confirm(f"{started.name} is being trained in a separate process.")
