"""Knowledge packs, and what is computed from gene spaces."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.base.errors import NotFound, StateError
from core.embeddings.space import project_to_two_axes
from core.embeddings.symbol_matching import Coverage, Rule
from core.features.neighbours import spaces as space_actions
from core.features.neighbours.result import knn_sentence
from core.runs.component_loader import WorkspaceComponents
from core.scoring.sentences import scored_text
from core.store import datasets, runs, spaces
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer.knn_settings import read_knn_settings
from core.transfer.permutation_null import KnnNumbers
from core.ui.loaders.cache import cache_by, from_store, reading
from core.ui.loaders.records import space_vectors
from core.ui.loaders.scores import run_score
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


@cache_by("spaces", "datasets", entries=100)
def space_coverage(space: str, dataset: str) -> Coverage | None:
    """Return how much of a dataset (id) a space (id) covers."""
    with reading() as db:
        record = spaces.find(db, space)
    return space_actions.coverage_of(read_workspace(), record, dataset)


@cache_by("spaces", "datasets", entries=3, shared=True)
def cosine_cache(dataset: str) -> dict[tuple[str, bool], NDArray[np.float64]]:
    """Return the cosines of a dataset's symbols, filled as they are needed: (space, centred) →
    matrix."""
    del dataset  # part of the key only
    return {}


@cache_by("run:{0}", "datasets", "spaces", entries=30)
def protocol_sentences(run: str) -> list[tuple[str, str]]:
    """Return (protocol, sentence) for each kNN on labelled rows in a run: its own score, or a
    caution for reading it.

    A kNN by folds has no sentence about itself, which would repeat its score.
    """
    with reading() as db:
        knn_runs = [
            (each, datasets.find(db, each.dataset))
            for each in runs.lineage(db, [runs.find(db, run)])
            if each.method == "knn"
        ]
    found: list[tuple[str, str]] = []
    for each, dataset in knn_runs:
        protocol = read_knn_settings(each.spec).protocol.kind
        if protocol == "folds" and each.id != run:
            score = run_score(each.id)
            found.append(
                (
                    protocol,
                    (
                        f"{each.name} alone, {scored_text(score.whole.scored)}:"
                        f" {score.sentence.removesuffix('.')}"
                    ),
                )
            )
        elif protocol == "loo":
            found.append((protocol, f"{each.name}: {_knn_sentence(dataset, each)}"))
    return found


def _knn_sentence(dataset: Dataset, run: Run) -> str:
    settings = read_knn_settings(run.spec)
    try:
        predicted = WorkspaceComponents(read_workspace(), dataset).predict_knn(settings, None)
    except (NotFound, StateError) as error:  # a space that was deleted
        return f"cannot be evaluated again: {error}"
    return knn_sentence(KnnNumbers(settings.protocol, predicted.evaluation()))
