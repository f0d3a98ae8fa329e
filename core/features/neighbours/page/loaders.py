"""Knowledge packs, and what is computed from gene spaces. Overview asks here for sentences, so what
builds spaces is imported where it is needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.base.errors import NotFound, StateError
from core.embeddings.space import project_to_two_axes
from core.embeddings.symbol_matching import Coverage, Rule
from core.runs import component_loader
from core.runs.component_loader import WorkspaceComponents
from core.scoring import sentences
from core.scoring.sentences import scored_text
from core.store import datasets, runs, spaces
from core.store.datasets import Dataset
from core.store.runs import Run
from core.transfer import run_cells
from core.transfer.knn_settings import KnnSettings, read_knn_settings
from core.transfer.permutation_null import N_PERMUTATIONS, KnnNumbers, content_key
from core.transfer.protocols import KnnInputs
from core.transfer.run_cells import MeanOfCuts
from core.ui import server_workspace, shell
from core.ui.background import Progress, Result, background
from core.ui.loaders.cache import cache_by, from_store, reading
from core.ui.loaders.components import row_index, space_vectors
from core.ui.loaders.scores import run_rows, run_score
from core.ui.server_workspace import read_workspace
from core.ui.widgets import as_text

all_packs = cache_by("spaces")(from_store(spaces.list_packs))


@cache_by("spaces", "datasets", entries=50)
def space_matches(space: str, dataset: str) -> dict[str, int]:
    """Return how many symbols of a dataset (id) each rule found in a space (id)."""
    from core.features.neighbours import spaces as space_actions

    with reading() as db:
        record = spaces.find(db, space)
    found = space_actions.match_dataset(read_workspace(), record, dataset)
    rules: tuple[Rule, ...] = ("exact", "case", "ortholog")
    counts: dict[str, int] = {rule: found.count(rule) for rule in rules}
    return {
        **counts,
        "not found": int((~found.covered).sum()),
        "in several spellings": len(found.ambiguous),
    }


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
    from core.features.neighbours import spaces as space_actions

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
    from core.features.neighbours.result import knn_sentence

    settings = read_knn_settings(run.spec)
    try:
        predicted = WorkspaceComponents(read_workspace(), dataset).predict_knn(settings, None)
    except (NotFound, StateError) as error:  # a space that was deleted
        return f"cannot be evaluated again: {error}"
    return knn_sentence(KnnNumbers(settings.protocol, predicted.evaluation()))


@dataclass(frozen=True, slots=True, eq=False)
class SpaceTask:
    """A request for the numbers of a kNN under folds; made by `task_on_rows`. key: of everything
    that they depend on."""

    inputs: KnnInputs
    labels: NDArray[np.object_]
    k: int
    key: str


@cache_by("spaces", "datasets", "run:{3}", entries=30, shared=True)
def task_on_rows(
    dataset: str, name: str, settings: KnnSettings, run: str | None = None
) -> SpaceTask:
    """Return the task of a kNN under folds on all labelled rows of a dataset (its id and its name),
    or on those of a run (id)."""
    index = row_index(dataset)
    rows = (
        index.known_positions
        if run is None
        else index.positions_of(run_rows(run)["pair_id"].tolist())
    )
    spaces = tuple(space_vectors(dataset, space) for space in settings.spaces)
    inputs = KnnInputs(index.rows.take(rows), index.known, spaces, settings.similarity, name)
    k, labels = settings.protocol.k, index.labels[rows]
    return SpaceTask(
        inputs, labels, k, content_key(inputs, labels, k, N_PERMUTATIONS, component_loader.SEED)
    )


def _ask(task: SpaceTask) -> tuple[Result, Result]:
    """Return the mean of ten cuts, and the null from the cache, each once it is computed. The null
    is asked for after the mean, and not if that failed."""

    def compute(progress: Progress) -> MeanOfCuts:
        found = run_cells.predict_cuts(task.inputs, task.k, progress=progress)
        return run_cells.score_cuts(task.labels, task.inputs.queries, found, task.k)

    mean = background().ask(("cuts", task.key), compute)
    if not mean.ready or mean.value is None:
        return mean, mean
    kept = component_loader.kept_null(server_workspace.read_workspace(), task.key)
    if kept is not None:
        return mean, Result(ready=True, value=kept)
    inputs, labels = task.inputs, task.labels
    return mean, background().ask(
        ("null", task.key), lambda told: server_workspace.keep_null(inputs, labels, task.k, told)
    )


def show_sentence(task: SpaceTask, whose: str) -> None:
    """Show the number of a kNN in a sentence, with its null once it is ready. whose: the beginning
    of the sentence."""

    from core.features.neighbours.result import space_sentence

    def draw() -> None:
        mean, null = _ask(task)
        if not mean.ready:
            told = f"the {run_cells.NAME} is being computed"
        elif mean.value is None:
            told = f"the {run_cells.NAME} could not be computed: the log says why"
        else:
            told = space_sentence(mean.value, null.value)
            told += "" if null.ready else "; the same with permuted vectors is being computed"
        with st.container(key="space-sentence"):
            st.caption(as_text(f"{whose}: {told}"), help=sentences.explain(told))

    shell.draw_until_ready(draw, lambda: _ask(task)[1].ready)
