"""Gene spaces, knowledge packs, and what is computed from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.embeddings.space import project_to_two_axes
from core.embeddings.symbol_matching import Coverage, Rule
from core.features.neighbours import spaces as space_actions
from core.runs import component_loader
from core.store import datasets, spaces
from core.transfer.knn import Priors
from core.transfer.knn_settings import KnnSettings
from core.transfer.row_index import RowIndex
from core.transfer.similarity import Space, cosine_similarity
from core.ui.loaders.cache import cache_by, from_store, reading
from core.ui.loaders.records import dataset_rows
from core.ui.server_workspace import read_workspace

MOST_SIMILAR = 15  # symbols that are listed
all_spaces = cache_by("spaces")(from_store(spaces.list_all))
all_packs = cache_by("spaces")(from_store(spaces.list_packs))


@cache_by("spaces", "datasets", entries=100)
def space_coverage(space: str, dataset: str) -> Coverage | None:
    """Return how much of a dataset (id) a space (id) covers."""
    with reading() as db:
        record = spaces.find(db, space)
    return space_actions.coverage_of(read_workspace(), record, dataset)


@cache_by("spaces", "datasets", entries=50)
def space_matches(space: str, dataset: str) -> tuple[dict[str, int], list[str]]:
    """Return how many symbols of a dataset (id) each rule found in a space (id), and the symbols
    with several spellings."""
    with reading() as db:
        record = spaces.find(db, space)
    found = space_actions.match_dataset(read_workspace(), record, dataset)
    rules: tuple[Rule, ...] = ("exact", "case", "ortholog")
    return {rule: found.count(rule) for rule in rules} | {
        "not found": int((~found.covered).sum())
    }, sorted(found.ambiguous)


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


@cache_by("spaces", "datasets", entries=8, shared=True)
def principal_axes(dataset: str, space: str) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Return the first two principal components of a dataset's symbols in a space, and their shares
    of the variance.

    Components are of shape (n_symbols, 2).
    """
    return project_to_two_axes(space_vectors(dataset, space).columns)


@cache_by("spaces", "datasets", entries=50)
def most_similar(dataset: str, space: str, role: str, symbol: str) -> pd.DataFrame:
    """Return the perturbations or genes of a dataset (id) that are most similar to one: symbol,
    similarity, counts of labels."""
    rows = dataset_rows(dataset)
    names = sorted(rows[role].unique())
    code_of = {name: i for i, name in enumerate(row_index(dataset).symbols)}
    codes = np.array([code_of[name] for name in names])
    similarity = cosine_similarity([space_vectors(dataset, space)]).block(
        np.array([code_of[symbol]]), codes
    )[0]
    table = pd.DataFrame({"symbol": names, "similarity": similarity})
    table = table[(table["similarity"] > 0) & (table["symbol"] != symbol)].nlargest(
        MOST_SIMILAR, "similarity"
    )
    counts = rows.groupby([role, "label"]).size().unstack(fill_value=0)
    return table.join(counts, on="symbol").fillna(0).astype(dict.fromkeys(counts.columns, int))
