"""Loads what runs are made from out of a workspace: other runs, gene spaces, labels."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from core.base.errors import InputError, NotFound, StateError
from core.base.feature import Labelled
from core.base.file_io import replace_file
from core.base.log import LOGGER
from core.base.system_errors import explain
from core.base.types import JsonObject
from core.features import hooks
from core.methods.fusion_components import DatasetPriors
from core.methods.fusion_settings import FusionSettings, fusion_options
from core.methods.knn import knn_options
from core.runs import packs
from core.runs.request import RunRequest
from core.runs.spec import dataset_sha256
from core.runs.workspace import Workspace
from core.stats.arrays import Bools, Floats
from core.store import datasets, pairs, predictions, runs, spaces
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.knn import Priors
from core.transfer.knn_settings import KnnSettings, read_knn_settings, rows_to_predict
from core.transfer.permutation_null import (
    N_PERMUTATIONS,
    PermutationNull,
    content_key,
    permutation_null,
)
from core.transfer.prior_provenance import Provenance, explain_prior
from core.transfer.protocols import EvaluationProtocol, KnnInputs, predict_knn, predict_priors
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
    loaded = []
    for space in records:
        vectors = _open_space(workspace, space)
        orthologs = packs.read_orthologs(workspace, dataset.organism, vectors.symbols)

        def rebuild(
            visible: Bools,
            of: spaces.SpaceRecord = space,
            orthologs: Mapping[str, str] = orthologs,
        ) -> Floats:
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


def hash_contents(workspace: Workspace, dataset: str, names: Sequence[str]) -> JsonObject:
    """Return the hashes of a kNN's inputs over the spaces of these names; see
    `ComponentLoader.contents`."""
    from core.runs.dependencies import load_pairs  # imports the clients of model servers

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


SEED = 0  # of the permutations

Progress = Callable[[float], object]  # is told the share that is done


def find_null(
    workspace: Workspace,
    knn: KnnInputs,
    labels: ArrayLike,
    k: int,
    n: int = N_PERMUTATIONS,
    progress: Progress | None = None,
) -> PermutationNull:
    """Return the null of a kNN from the cache; compute and cache it, unless the workspace is
    read-only."""
    key = content_key(knn, labels, k, n, SEED)
    kept = kept_null(workspace, key)
    if kept is not None:
        return kept
    null = permutation_null(knn, labels, k, n, SEED, progress)
    if not workspace.settings.read_only:
        try:
            content = BytesIO()
            np.save(content, null.values)
            _file(workspace, key).parent.mkdir(parents=True, exist_ok=True)
            replace_file(_file(workspace, key), content.getvalue())
        except OSError as error:  # it is computed again next time
            LOGGER.warning(
                "a null by permutation is not kept: %s", explain(error, _file(workspace, key))
            )
    return null


def kept_null(workspace: Workspace, key: str) -> PermutationNull | None:
    """Return the null of this content (see `content_key`) from the cache, else None."""
    try:
        return PermutationNull(np.load(_file(workspace, key)), SEED)
    except (OSError, ValueError, EOFError):  # none, or damaged: it is computed again
        return None


def _file(workspace: Workspace, key: str) -> Path:
    return workspace.settings.cache / "permuted" / f"{key}.npy"


def null_of_run(
    workspace: Workspace, run: Run, pair_ids: Sequence[str], *, compute: bool
) -> PermutationNull | None:
    """Return the null of the space behind a kNN's run on these rows, from the cache or, with
    `compute`, made for it.

    None for other methods and other protocols than folds, if it is not cached, and if a space of
    the run was deleted.
    """
    if run.method != "knn":
        return None
    settings = read_knn_settings(run.spec)
    if settings.protocol.kind != "folds":
        return None
    try:
        found = WorkspaceComponents(workspace, default_dataset(workspace, run.dataset)).predict_knn(
            settings, pair_ids
        )
    except (NotFound, StateError):
        return None
    if compute:
        return find_null(workspace, found.inputs, found.labels, settings.protocol.k)
    return kept_null(
        workspace,
        content_key(found.inputs, found.labels, settings.protocol.k, N_PERMUTATIONS, SEED),
    )


def kept_vectors(workspace: Workspace, run: Run, pair_ids: Sequence[str]) -> Floats | None:
    """Return the scores of a kNN's run with permuted vectors, of shape (n, 2), if they were
    computed before, else None."""
    null = null_of_run(workspace, run, pair_ids, compute=False)
    return None if null is None else null.values


def control_expression_of(workspace: Workspace, dataset: str) -> pd.DataFrame | None:
    """Return statistics of a dataset's (id) genes in control cells: gene, mean, variance, detected;
    None if it was not made from cells."""
    found = (read(workspace, dataset) for read in hooks("control_expression"))
    return next((genes for genes in found if genes is not None), None)
