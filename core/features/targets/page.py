"""Targets: the table of every model on the same rows, beside a random ranking and the ceiling of
models of trained genes; and the training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pandas as pd
import streamlit as st

from core.base.fields.record import make, option_of
from core.features.targets import actions as target_ranking
from core.features.targets.actions import RankingFolder
from core.features.targets.evaluate import (
    Evaluation,
    EvaluationRequest,
    RankingTableRequest,
    TrainingOptions,
    TrainingRequest,
    missing_packages,
    request_of,
)
from core.features.targets.jobs import KIND
from core.features.targets.models.base import ranking_models
from core.features.targets.tables import METRICS, evaluation_title, table_of
from core.plots import drawing
from core.runs.workspace import Workspace
from core.ui.job_panel import watch_job
from core.ui.linked import bind, choose_one
from core.ui.links import confirm
from core.ui.option_controls import choose_setting, show_more, show_settings, title_of
from core.ui.results import show_result
from core.ui.shell import explain_errors
from core.ui.widgets import as_text, show_empty, show_figure


def show_evaluation(workspace: Workspace, shown: ShownRanking) -> None:
    """Show the table of an evaluation."""
    show_result(
        table_of(shown.folder, shown.saved, shown.metric),
        shown.folder.key,
        f"targets-{shown.metric}",
    )
    if not workspace.settings.read_only:
        with st.expander("Evaluate with another mask or unit"):
            chosen = show_settings(EvaluationRequest, "", ["unit", "mask"], columns=2)
            chosen |= show_more(EvaluationRequest, "", chosen)
            st.caption("The cells are read again from their file.")
            if st.button("Evaluate", key="evaluate-targets"):
                with explain_errors(), st.spinner("Ranking the genes …"):
                    saved = target_ranking.evaluate_saved(
                        workspace, shown.folder.key, make(EvaluationRequest, chosen)
                    )
                    st.query_params["evaluation"] = saved.key
                    confirm(f"{shown.folder.key}: evaluated on {evaluation_title(saved.settings)}.")


_RANKING = option_of(RankingTableRequest, "ranking")


@dataclass(frozen=True, slots=True, eq=False)
class ShownRanking:
    """The evaluated ranking that the page shows."""

    folder: RankingFolder
    saved: Evaluation
    metric: str


def choose(workspace: Workspace) -> tuple[RankingFolder | None, ShownRanking | None]:
    """Show the choices in one row; return the chosen ranking, if there is one, and what is shown of
    it once it is evaluated."""
    folders = {folder.key: folder for folder in target_ranking.list_all(workspace)}
    if not folders:
        return None, None
    left, middle, right = st.columns([0.3, 0.4, 0.3])
    first = next(iter(folders))
    folder = folders[
        choose_setting(left.selectbox, _RANKING, "", {name: name for name in folders}, first)
        or first
    ]
    evaluations = {saved.key: saved for saved in reversed(folder.evaluations())}
    if not evaluations:
        return folder, None
    titles = {key: evaluation_title(saved.settings) for key, saved in evaluations.items()}
    key = choose_one(
        middle.selectbox, "evaluation", "Evaluation", titles, next(iter(titles))
    ) or next(iter(titles))
    metric = choose_one(right.selectbox, "metric", "Metric", METRICS, "recall") or "recall"
    return folder, ShownRanking(folder, evaluations[key], metric)


# models that train on the simulated screen within a minute
QUICK = ("pca_knn", "random_forest", "xgboost")
MEASURES: Final = {
    "train_loss": "loss on training cells",
    "validation_mrr": "MRR on validation cells",
}


def show_training(workspace: Workspace, folder: RankingFolder | None) -> None:
    """Show the training of a target ranking, and the form that starts one."""
    if folder is None:
        show_empty(
            "No model was trained here. Target ranking is the reverse problem. Models read the"
            " expression of perturbed cells and rank all genes, so that the perturbed ones come"
            " first. It needs single cells with conditions (`A+ctrl`, `A+B`, `ctrl`) as `.h5ad`,"
            " not the labelled pairs on Data."
        )
    else:
        watch_job(workspace, KIND.name, folder.key)
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
        if measure not in history:
            continue
        with column:
            chart = drawing.figure(history.assign(y=history[measure]), "epoch or round", words)
            caption = f"{folder.key} · ★ the chosen epoch or round · no interval"
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
