"""The numbers of gene spaces on pages, the mean of ten cuts and its null, computed in the
background."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from core.features.neighbours.result import space_sentence
from core.runs import component_loader
from core.scoring import terms
from core.transfer import cuts
from core.transfer.cuts import MeanOfCuts
from core.transfer.knn_settings import KnnSettings
from core.transfer.permutation_null import N_PERMUTATIONS, content_key
from core.transfer.protocols import KnnInputs
from core.ui import server_workspace, shell
from core.ui.background import Progress, Result, background
from core.ui.loaders.cache import cache_by
from core.ui.loaders.scores import run_rows
from core.ui.loaders.spaces import row_index, space_vectors
from core.ui.widgets import as_text


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


def ask_cuts(task: SpaceTask) -> Result:
    """Return the mean of ten cuts once it is computed."""

    def compute(progress: Progress) -> MeanOfCuts:
        found = cuts.predict_cuts(task.inputs, task.k, progress=progress)
        return cuts.score_cuts(task.labels, task.inputs.queries, found, task.k)

    return background().ask(("cuts", task.key), compute)


def ask_null(task: SpaceTask) -> Result:
    """Return the null, from the cache or once it is computed."""
    kept = component_loader.kept_null(server_workspace.read_workspace(), task.key)
    if kept is not None:
        return Result(ready=True, value=kept)

    inputs, labels = task.inputs, task.labels
    return background().ask(
        ("null", task.key), lambda told: server_workspace.keep_null(inputs, labels, task.k, told)
    )


def show_sentence(task: SpaceTask, whose: str) -> None:
    """Show the number of a kNN in a sentence, with its null once it is ready. whose: the beginning
    of the sentence."""

    def draw() -> None:
        found, null = ask_cuts(task), None
        if not found.ready:
            told = f"the {cuts.NAME} is being computed"
        elif found.value is None:
            told = f"the {cuts.NAME} could not be computed: the log says why"
        else:
            null = ask_null(task)
            told = space_sentence(found.value, null.value)
            told += "" if null.ready else "; the same with permuted vectors is being computed"
        with st.container(key="space-sentence"):
            st.caption(as_text(f"{whose}: {told}"), help=terms.explain(told))

    shell.draw_until_ready(draw, lambda: is_ready(task))


def is_ready(task: SpaceTask) -> bool:
    """Request the cuts and the null; return whether they are ready or have failed."""
    found = ask_cuts(task)
    return found.ready and (found.value is None or ask_null(task).ready)
