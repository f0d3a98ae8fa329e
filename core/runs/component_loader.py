"""Loads what runs are made from out of a workspace: other runs, gene spaces, labels."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from core.base.errors import InputError, StateError
from core.base.feature import Labelled
from core.features import hooks
from core.methods.fusion_components import DatasetPriors
from core.runs import packs
from core.runs.dependencies import load_pairs
from core.runs.spec import dataset_sha256
from core.runs.workspace import Workspace
from core.stats.arrays import Bools, Floats
from core.store import datasets, pairs, predictions, runs, spaces
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.knn import Priors
from core.transfer.knn_settings import KnnSettings, rows_to_predict
from core.transfer.protocols import KnnInputs, predict_knn
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space, space_over

MOST_PRIORS = 32  # kept by a loader
UNLABELLED = "no labels"  # the labels that a prediction of test rows is evaluated against


def default_dataset(workspace: Workspace, name: str | None) -> Dataset:
    """Return the dataset of a name or id, else the workspace's default; of several it is remarked.

    Raise NotFound, and InputError without any dataset.
    """
    with workspace.store.read() as db:
        found = datasets.find(db, name) if name else datasets.default(db)
        others = (
            []
            if name
            else [
                each
                for each in datasets.list_all(db)
                if each.origin != "simulated" and each != found
            ]
        )
    if found is None:
        raise InputError("this workspace has no dataset; import one first")
    if others and workspace.remark is not None:
        workspace.remark(
            f"dataset {found.name}: of {len(others) + 1} the one made or used last; --dataset"
            " chooses another"
        )
    return found


def load_index(workspace: Workspace, dataset: Dataset) -> RowIndex:
    """Return the rows of a dataset as codes."""
    with workspace.store.read() as db:
        return RowIndex.of_frame(pairs.frame(db, dataset.id))


def load_spaces(
    workspace: Workspace, index: RowIndex, dataset: Dataset, names: Sequence[str]
) -> list[Space]:
    """Return the spaces of these names over an index's symbols; one built from this dataset's
    labels can be rebuilt per fold."""
    with workspace.store.read() as db:
        records = [spaces.find(db, name) for name in names]
    orthologs = packs.read_orthologs(workspace, dataset.organism)
    loaded = []
    for space in records:
        vectors = _open_space(workspace, space)

        def rebuild(visible: Bools, of: spaces.SpaceRecord = space) -> Floats:
            rows = index.known_positions[visible]
            symbols = index.symbols
            pert, gene = (
                [symbols[code] for code in axis[rows]]
                for axis in (index.rows.pert, index.rows.gene)
            )
            built = _open_space(workspace, of, (pert, gene, list(index.labels[rows])))
            return space_over(built, symbols, orthologs).columns

        can_rebuild = space.kind == "coresponse" and space.built_from == dataset.name
        loaded.append(
            space_over(vectors, index.symbols, orthologs, rebuild if can_rebuild else None)
        )
    return loaded


def _open_space(
    workspace: Workspace, record: spaces.SpaceRecord, labelled: Labelled | None = None
) -> Any:
    """Return a space's vectors (`core.embeddings.space.Space`), or those built from other labelled
    rows. Raise StateError if no feature brings spaces."""
    for open_space in hooks("spaces"):
        return open_space(workspace, record, labelled)
    raise StateError(f"space {record.name}: nothing here opens spaces")


def hash_contents(workspace: Workspace, dataset: str, names: Sequence[str]) -> dict[str, Any]:
    """Return the hashes of a kNN's inputs over the spaces of these names; see
    `ComponentLoader.contents`."""
    with workspace.store.read() as db:
        hashes = {name: spaces.find(db, name).sha256 for name in names}
    return {
        "sources": hashes,
        "dataset_sha256": dataset_sha256(load_pairs(workspace.store, dataset).values()),
    }


@dataclass(frozen=True, slots=True)
class WorkspaceComponents:
    """Loads components of one dataset from the store; see
    `core.methods.fusion_components.ComponentLoader`.

    It caches the last predicted kNN, so that checking and running a request predict once. It also
    caches the last priors, since several fusions under ten cuts use the same ones.
    """

    workspace: Workspace
    dataset: Dataset
    _last_knn: dict[tuple[KnnSettings, tuple[str, ...]], DatasetPriors] = field(
        default_factory=dict, compare=False
    )
    _priors: dict[tuple[KnnSettings, tuple[str, ...] | None], Priors] = field(
        default_factory=dict, compare=False
    )
    _contents: dict[tuple[str, ...], Mapping[str, Any]] = field(default_factory=dict, compare=False)
    # of the one dataset, once it was read
    _index: dict[str, RowIndex] = field(default_factory=dict, compare=False)
    # the last ones
    _spaces: dict[tuple[str, ...], list[Space]] = field(default_factory=dict, compare=False)

    @property
    def dataset_id(self) -> str:
        return self.dataset.id

    def run(self, name: str) -> Run:
        with self.workspace.store.read() as db:
            return runs.find_predicting(db, name)

    def predictions(self, run: str) -> pd.DataFrame:
        with self.workspace.store.read() as db:
            return predictions.frame(db, run)

    def index(self) -> RowIndex:
        if not self._index:
            self._index[self.dataset.id] = load_index(self.workspace, self.dataset)
        return self._index[self.dataset.id]

    def priors(self, settings: KnnSettings, pair_ids: Sequence[str] | None) -> Priors:
        key = settings, None if pair_ids is None else tuple(pair_ids)
        if key not in self._priors:
            if len(self._priors) >= MOST_PRIORS:
                self._priors.pop(next(iter(self._priors)))
            self._priors[key] = self.predict_knn(settings, pair_ids).predicted.priors
        return self._priors[key]

    def predict_knn(self, settings: KnnSettings, pair_ids: Sequence[str] | None) -> DatasetPriors:
        index = self.index()
        rows = (
            rows_to_predict(index, settings.protocol)
            if pair_ids is None
            else index.positions_of(pair_ids)
        )
        key = settings, tuple(index.pair_ids[row] for row in rows)
        if key not in self._last_knn:
            names = settings.spaces
            if names not in self._spaces:
                self._spaces.clear()
                self._spaces[names] = load_spaces(self.workspace, index, self.dataset, names)
            loaded = self._spaces[names]
            start = time.perf_counter()
            evaluated = UNLABELLED if settings.protocol.kind == "test" else self.dataset.name
            inputs = KnnInputs(
                index.rows.take(rows), index.known, tuple(loaded), settings.similarity, evaluated
            )
            predicted = predict_knn(settings.protocol, inputs)
            self._last_knn.clear()
            self._last_knn[key] = DatasetPriors(
                index, np.asarray(rows), inputs, predicted, time.perf_counter() - start
            )
        return self._last_knn[key]

    def contents(self, settings: KnnSettings) -> Mapping[str, Any]:
        names = settings.spaces
        if names not in self._contents:
            self._contents[names] = hash_contents(self.workspace, self.dataset.id, names)
        return self._contents[names]
