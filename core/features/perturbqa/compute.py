"""The baselines of a labelled dataset in a workspace, or of its rows from another's training rows. Nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.actions import cells, packs
from core.actions.workspace import Workspace
from core.features.perturbqa.baselines.attention_settings import AttentionGrid
from core.features.perturbqa.baselines.material import benchmark_of_lines
from core.features.perturbqa.baselines.split import SplitBaselines, SplitInputs, find_split_baselines
from core.store import datasets, pairs


@dataclass(frozen=True, slots=True)
class BaselineRequest:
    """A request: the labelled rows of a split of a dataset, by name or id.

    training: the dataset with the training rows, None for the same one. attention: see `Material`.
    """

    dataset: str
    split: str = "test"
    training: str | None = None
    attention: AttentionGrid | None = None


def compute_baselines(
    workspace: Workspace, request: BaselineRequest, progress: Callable[[float], object] = lambda _: None
) -> SplitBaselines:
    """Return the baselines of a split. Raise NotFound, and InputError if the split has no labelled row."""
    with workspace.store.read() as db:
        scored = datasets.find(db, request.dataset)
        training = scored if request.training is None else datasets.find(db, request.training)
        frame = pairs.frame(db, scored.id)
        if training.id != scored.id:
            frame = benchmark_of_lines(pairs.frame(db, training.id), frame, request.split)
    hashes = packs.pack_hashes(workspace, scored.organism, or_another=True)
    inputs = SplitInputs(
        scored.name,
        training.name,
        frame,
        packs.read_packs(workspace, hashes),
        request.attention,
        cells.control_expression_of(workspace, scored.id),
        scored.marks,
    )
    return find_split_baselines(inputs, request.split, progress)
