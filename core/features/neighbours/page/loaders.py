"""Knowledge packs, and what is computed from gene spaces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.embeddings.space import project_to_two_axes
from core.embeddings.symbol_matching import Rule
from core.features.neighbours import spaces as space_actions
from core.store import spaces
from core.ui.loaders.cache import cache_by, from_store, reading
from core.ui.loaders.spaces import space_vectors
from core.ui.server_workspace import read_workspace

all_packs = cache_by("spaces")(from_store(spaces.list_packs))


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


@cache_by("spaces", "datasets", entries=8, shared=True)
def principal_axes(dataset: str, space: str) -> tuple[NDArray[np.float64], tuple[float, float]]:
    """Return the first two principal components of a dataset's symbols in a space, and their shares
    of the variance.

    Components are of shape (n_symbols, 2).
    """
    return project_to_two_axes(space_vectors(dataset, space).columns)
