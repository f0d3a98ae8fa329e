"""Runs that are made from runs and spaces, as pages and commands ask for them."""

from __future__ import annotations

import pandas as pd

from core.methods.fusion_settings import FusionSettings, fusion_options
from core.runs import component_loader, launch
from core.runs.request import RunRequest
from core.runs.workspace import Workspace
from core.store import predictions, runs
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.knn_settings import KnnSettings


def save_knn(
    workspace: Workspace,
    dataset: Dataset,
    settings: KnnSettings,
    name: str,
    *,
    replace: bool = False,
) -> Run:
    return launch.start(
        workspace, component_loader.knn_request(dataset, settings, name), replace=replace
    )


def save_fusion(
    workspace: Workspace, settings: FusionSettings, name: str, *, replace: bool = False
) -> Run:
    """Runs may be named by name or id."""
    request = RunRequest("fusion", None, fusion_options(settings), name=name)
    return launch.start(workspace, request, replace=replace)


def save_recovered(
    workspace: Workspace,
    base: str,
    fused: str,
    weights: tuple[float, float],
    name: str,
    *,
    replace: bool = False,
) -> Run:
    options = {"base": base, "fused": fused, "w_de": weights[0], "w_dir": weights[1]}
    return launch.start(
        workspace, RunRequest("recovered", None, options, name=name), replace=replace
    )


def rows_of(workspace: Workspace, run: str) -> pd.DataFrame:
    """The rows of a run by pair id."""
    with workspace.store.read() as db:
        return predictions.frame(db, runs.find(db, run).id).set_index("pair_id")
