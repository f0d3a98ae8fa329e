"""kNN, fusion and decomposition: requests of runs, and the neighbours behind one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.actions.components import UNLABELLED, load_index, load_spaces
from core.actions.workspace import Workspace
from core.engine.request import RunRequest
from core.methods.components import FusionSettings
from core.methods.fusion import fusion_options
from core.methods.knn import knn_options
from core.store.datasets import Dataset
from core.transfer.knn_settings import KnnSettings
from core.transfer.prior_provenance import Provenance, explain_prior
from core.transfer.protocols import EvaluationProtocol, predict_priors


def knn_request(dataset: Dataset, settings: KnnSettings, name: str) -> RunRequest:
    """Returns the request of a kNN's priors as a run."""
    return RunRequest("knn", dataset.name, knn_options(settings), name=name)


def fusion_request(dataset: str, settings: FusionSettings, name: str) -> RunRequest:
    """Returns the request of a fusion of saved runs on the rows of its base; dataset: of the base, by name or id."""
    return RunRequest("fusion", dataset, fusion_options(settings), name=name)


def recovered_request(dataset: str, base: str, fused: str, weights: tuple[float, float], name: str) -> RunRequest:
    """Returns the request of the component that a fusion of `base` was made with at weights (DE, DIR)."""
    w_de, w_dir = weights
    return RunRequest("recovered", dataset, {"base": base, "fused": fused, "w_de": w_de, "w_dir": w_dir}, name=name)


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Where one row's priors come from: provenance, and pair ids and labels of its neighbours in the same order."""

    settings: KnnSettings
    why: Provenance
    pair_ids: list[str]
    labels: list[str]


def neighbours_of(
    workspace: Workspace,
    dataset: Dataset,
    pair_id: str,
    settings: KnnSettings,
    *,
    chosen: bool = True,
    without: Sequence[str] = (),
) -> Neighbours:
    """The labelled rows behind one row's priors; `without` some of them, by id. A row without a label sees them all, and
    so do its settings unless `chosen` says that the protocol was asked for."""
    index = load_index(workspace, dataset)
    row = int(index.positions_of([pair_id])[0])
    if index.labels[row] is None and not chosen:
        settings = replace(settings, protocol=EvaluationProtocol("test"))
    query = index.rows.take(np.array([row]))
    over = load_spaces(workspace, index, dataset, settings.spaces)
    evaluated = UNLABELLED if index.labels[row] is None else dataset.name
    [view] = predict_priors(settings.protocol, query, index.known, over, settings.setting, evaluated).groups
    left_out = np.flatnonzero(np.isin(index.known_positions[view.known_positions], index.positions_of(without)))
    codes = int(query.pert[0]), int(query.gene[0])
    why = explain_prior(codes, view.known, view.similar, settings.setting.weighting, view.parts, left_out)
    at = index.known_positions[view.known_positions[why.neighbours]]
    return Neighbours(settings, why, [index.pair_ids[i] for i in at], [str(index.labels[i]) for i in at])
