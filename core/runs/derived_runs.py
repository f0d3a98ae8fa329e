"""Requests of kNN, fusion and decomposition as runs, and the neighbours behind one row's priors.

A setting of such a run belongs to the record `settings` of its request: forms of runs show that,
and the run keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import numpy as np

from core.base.fields.setting import Whole, setting
from core.methods.fusion_settings import FusionSettings, fusion_options
from core.methods.knn import knn_options
from core.runs.component_loader import UNLABELLED, load_index, load_spaces
from core.runs.request import RunRequest
from core.runs.shared_settings import DatasetName
from core.runs.workspace import Workspace
from core.store.datasets import Dataset
from core.transfer.knn_settings import KnnSettings
from core.transfer.permutation_null import N_PERMUTATIONS
from core.transfer.prior_provenance import Provenance, explain_prior
from core.transfer.protocols import EvaluationProtocol, predict_priors


@dataclass(frozen=True, slots=True)
class FusionRequest:
    """A fusion as a person asks for it. name: of the run that is saved."""

    name: Annotated[
        str,
        setting(
            "The new run's name.", title="Name of the new run", key="mix_name", changes_result=False
        ),
    ] = ""
    settings: FusionSettings = field(default_factory=FusionSettings)


@dataclass(frozen=True, slots=True)
class KnnRequest:
    """A kNN as a person asks for it. permutations: of the null. name: of the run that is saved."""

    settings: KnnSettings
    dataset: DatasetName = None
    permutations: Annotated[
        Whole,
        setting(
            "Under folds, the number of permutations for the null; 0 for none.",
            where="command",
            changes_result=False,
        ),
    ] = N_PERMUTATIONS
    name: Annotated[
        str | None, setting("Also save the priors as a run.", where="command", changes_result=False)
    ] = None


def knn_request(dataset: Dataset, settings: KnnSettings, name: str) -> RunRequest:
    """Return the request of a kNN's priors as a run."""
    return RunRequest("knn", dataset.name, knn_options(settings), name=name)


def fusion_request(dataset: str, settings: FusionSettings, name: str) -> RunRequest:
    """Return the request of a fusion of saved runs on the rows of its base; dataset: of the base,
    by name or id."""
    return RunRequest("fusion", dataset, fusion_options(settings), name=name)


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """The labelled rows behind one row's priors: provenance, and in its order their pair ids and
    labels."""

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
    protocol_chosen: bool = True,
    without: Sequence[str] = (),
) -> Neighbours:
    """Return the labelled rows behind one row's priors.

    protocol_chosen: whether a person chose the protocol; if not, a row that is no labelled training
    row gets the protocol test, which sees all of those. without: ids of labelled rows to leave out.
    """
    index = load_index(workspace, dataset)
    row = int(index.positions_of([pair_id])[0])
    if not index.knows(row) and not protocol_chosen:
        settings = replace(settings, protocol=EvaluationProtocol("test"))
    query = index.rows.take(np.array([row]))
    loaded = load_spaces(workspace, index, dataset, settings.spaces)
    evaluated = dataset.name if index.knows(row) else UNLABELLED
    [group] = predict_priors(
        settings.protocol, query, index.known, loaded, settings.similarity, evaluated
    ).groups
    left_out = np.flatnonzero(
        np.isin(index.known_positions[group.known_positions], index.positions_of(without))
    )
    codes = int(query.pert[0]), int(query.gene[0])
    why = explain_prior(
        codes, group.known, group.similar, settings.similarity.weighting, group.parts, left_out
    )
    at = index.known_positions[group.known_positions[why.neighbours]]
    return Neighbours(
        settings, why, [index.pair_ids[i] for i in at], [str(index.labels[i]) for i in at]
    )
