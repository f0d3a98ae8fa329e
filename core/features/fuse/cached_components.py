"""The components of runs, loaded for a page and cached while the store is unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from core.base.errors import NotFound
from core.features.neighbours.page import neighbour_controls
from core.methods.fusion_components import DatasetPriors
from core.runs import component_loader
from core.runs.component_loader import WorkspaceComponents
from core.store.datasets import Dataset
from core.store.runs import Run, refuse_reading
from core.transfer.knn import Priors
from core.transfer.knn_settings import KnnSettings, rows_to_predict
from core.transfer.row_index import RowIndex
from core.ui.loaders.cache import cache_by
from core.ui.loaders.components import row_index
from core.ui.loaders.records import all_runs
from core.ui.loaders.scores import run_rows
from core.ui.server_workspace import read_workspace

MAX_PRIORS = 48  # cached at a time; the oldest is dropped


@cache_by("spaces", "datasets", entries=50)
def knn_contents(dataset: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the hashes of a kNN's inputs: the spaces of these names and a dataset (id)."""
    return component_loader.hash_contents(read_workspace(), dataset, names)


@cache_by("spaces", "datasets", entries=3, shared=True)
def prior_cache(dataset: str) -> dict[tuple[KnnSettings, int], Priors]:
    """Return a dataset's priors, filled as they are needed: (settings, hash of the pair ids) →
    priors."""
    del dataset  # part of the key only
    return {}


@dataclass(frozen=True, slots=True)
class CachedComponents:
    """Loads components of one dataset through the page's caches; see
    `core.methods.fusion_components.ComponentLoader`."""

    dataset: Dataset

    @property
    def dataset_id(self) -> str:
        return self.dataset.id

    def run(self, name: str) -> Run:
        found = next((run for run in all_runs() if name in (run.id, run.name)), None)
        if found is None:
            raise NotFound(f"run {name!r}: not in this workspace")
        return refuse_reading(found)

    def predictions(self, run: str) -> pd.DataFrame:
        return run_rows(run)

    def index(self) -> RowIndex:
        return row_index(self.dataset.id)

    def priors(self, settings: KnnSettings, pair_ids: Sequence[str] | None) -> Priors:
        """Return the priors of these rows (None: all rows that the protocol predicts), from the
        cache if only weights changed."""
        index = self.index()
        rows = pair_ids or [
            index.pair_ids[row] for row in rows_to_predict(index, settings.protocol)
        ]
        cache, key = prior_cache(self.dataset.id), (settings, hash(tuple(rows)))
        if key not in cache:
            while len(cache) >= MAX_PRIORS:
                cache.pop(next(iter(cache)), None)
            live = neighbour_controls.find_neighbours(self.dataset, settings, tuple(rows))
            cache[key] = live.neighbourhood.priors(settings.spaces, settings.similarity)
        return cache[key]

    def predict_knn(self, settings: KnnSettings, pair_ids: Sequence[str] | None) -> DatasetPriors:
        return WorkspaceComponents(read_workspace(), self.dataset).predict_knn(settings, pair_ids)

    def contents(self, settings: KnnSettings) -> Mapping[str, Any]:
        return knn_contents(self.dataset.id, settings.spaces)
