"""Gene spaces over the rows of a dataset, and what a kNN reads of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.embeddings.symbol_matching import Coverage
from core.runs import component_loader
from core.store import datasets, spaces
from core.transfer.knn import Priors
from core.transfer.knn_settings import KnnSettings
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space
from core.ui.loaders.cache import cache_by, from_store, reading
from core.ui.server_workspace import read_workspace

all_spaces = cache_by("spaces")(from_store(spaces.list_all))


@cache_by("spaces", "datasets", entries=100)
def space_coverage(space: str, dataset: str) -> Coverage | None:
    """Return how much of a dataset (id) a space (id) covers."""
    with reading() as db:
        record = spaces.find(db, space)
    return component_loader.coverage_of(read_workspace(), record, dataset)


@cache_by("spaces", "datasets", entries=50)
def knn_contents(dataset: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the hashes of a kNN's inputs: the spaces of these names and a dataset (id)."""
    return component_loader.hash_contents(read_workspace(), dataset, names)


@cache_by("datasets", entries=4, shared=True)
def row_index(dataset: str) -> RowIndex:
    """Return the rows of a dataset (id) as integer codes."""
    with reading() as db:
        record = datasets.find(db, dataset)
    return component_loader.load_index(read_workspace(), record)


@cache_by("spaces", "datasets", entries=12, shared=True)
def space_vectors(dataset: str, space: str) -> Space:
    """Return the vectors of a space (name) for the symbols of a dataset (id)."""
    with reading() as db:
        record = datasets.find(db, dataset)
    return component_loader.load_spaces(read_workspace(), row_index(dataset), record, [space])[0]


@cache_by("spaces", "datasets", entries=3, shared=True)
def cosine_cache(dataset: str) -> dict[tuple[str, bool], NDArray[np.float64]]:
    """Return the cosines of a dataset's symbols, filled as they are needed: (space, centred) →
    matrix."""
    del dataset  # part of the key only
    return {}


@cache_by("spaces", "datasets", entries=3, shared=True)
def prior_cache(dataset: str) -> dict[tuple[KnnSettings, int], Priors]:
    """Return a dataset's priors, filled as they are needed: (settings, hash of the pair ids) →
    priors."""
    del dataset  # part of the key only
    return {}
