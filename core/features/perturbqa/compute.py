"""The baselines of a labelled dataset in a workspace, or of its rows from another's training rows.
Nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from core.base.types import TRAIN
from core.features.perturbqa.baselines.attention_settings import AttentionGrid
from core.features.perturbqa.baselines.material import (
    benchmark_of_lines,
    make_material,
    read_gene_knowledge,
)
from core.features.perturbqa.baselines.published_scores import load_published_scores
from core.features.perturbqa.baselines.split import SplitBaselines
from core.features.perturbqa.baselines.table import Reach, measure_coverage, score_baselines
from core.runs import packs
from core.runs.component_loader import control_expression_of
from core.runs.workspace import Workspace
from core.scoring.baselines import dataset_baselines
from core.store import datasets, pairs
from core.transfer.row_index import RowIndex


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
    workspace: Workspace,
    request: BaselineRequest,
    progress: Callable[[float], object] = lambda _: None,
) -> SplitBaselines:
    """Return the baselines of a split. Raise NotFound, and InputError if the split has no labelled
    row."""
    with workspace.store.read() as db:
        scored = datasets.find(db, request.dataset)
        training = scored if request.training is None else datasets.find(db, request.training)
        frame = pairs.frame(db, scored.id)
        if training.id != scored.id:
            frame = benchmark_of_lines(pairs.frame(db, training.id), frame, request.split)
    baselines = dataset_baselines(frame, request.split, control_expression_of(workspace, scored.id))
    coverage: tuple[Reach, ...] = ()
    sources: tuple[str, ...] = ()
    if request.split != TRAIN:
        index = RowIndex.of_frame(frame)
        hashes = packs.pack_hashes(workspace, scored.organism, or_another=True)
        genes = read_gene_knowledge(packs.read_packs(workspace, hashes), index.symbols)
        splits = frame["split"].to_numpy(dtype=object)
        material = make_material(index, splits, request.split, genes, request.attention)
        baselines = (*baselines, *score_baselines(material, progress))
        coverage, sources = measure_coverage(material), genes.sources
    return SplitBaselines(
        scored.name,
        request.split,
        training.name,
        int(((frame["split"] == request.split) & frame["label"].notna()).sum()),
        baselines,
        coverage,
        sources,
        load_published_scores().of(scored.name),
        scored.marks,
    )
