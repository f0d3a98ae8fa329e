"""All baselines of one split: without biology, with knowledge, and published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from core.evidence.packs import Packs
from core.experiments.benchmark_baselines.attention_settings import AttentionGrid
from core.experiments.benchmark_baselines.material import make_material, read_gene_knowledge
from core.experiments.benchmark_baselines.published_scores import PublishedScore, load_published_scores
from core.experiments.benchmark_baselines.table import BaselineTable, score_baselines
from core.label_marks import UNMARKED, LabelMarks
from core.scoring.baselines import Baseline, dataset_baselines
from core.transfer.row_index import RowIndex
from core.types import TRAIN


@dataclass(frozen=True, slots=True)
class SplitBaselines:
    """All baselines of a split.

    training: the name of the training rows' dataset. rows: of the split. without_biology: baselines that read no knowledge.
    table: baselines that read knowledge; None for the training split, whose rows would be predicted from their own labels.
    sources: of the knowledge. published: published scores on the cell line. marks: of the labels.
    """

    dataset: str
    split: str
    training: str
    rows: int
    without_biology: tuple[Baseline, ...]
    table: BaselineTable | None
    sources: tuple[str, ...]
    published: tuple[PublishedScore, ...]
    marks: LabelMarks = UNMARKED

    @property
    def all(self) -> tuple[Baseline, ...]:
        """Every baseline, those without biology first."""
        return (*self.without_biology, *(() if self.table is None else self.table.baselines))


@dataclass(frozen=True, slots=True, eq=False)
class SplitInputs:
    """The rows of a split and the training rows.

    dataset, training: the names of their datasets. frame: from `pairs.frame`. packs: knowledge about genes. attention: see
    `Material`. expression: see `dataset_baselines`. marks: of the scored labels.
    """

    dataset: str
    training: str
    frame: pd.DataFrame
    packs: Packs
    attention: AttentionGrid | None = None
    expression: pd.DataFrame | None = None
    marks: LabelMarks = UNMARKED


def find_split_baselines(inputs: SplitInputs, split: str, progress: Callable[[float], object] = lambda _: None) -> SplitBaselines:
    """Return the baselines of the labelled rows of a split. Raise InputError if it has none."""
    frame = inputs.frame
    without_biology = dataset_baselines(frame, split, inputs.expression)
    table: BaselineTable | None = None
    sources: tuple[str, ...] = ()
    if split != TRAIN:
        index = RowIndex.of_frame(frame)
        genes = read_gene_knowledge(inputs.packs, index.symbols)
        material = make_material(index, frame["split"].to_numpy(dtype=object), split, genes, inputs.attention)
        table, sources = score_baselines(material, progress), genes.sources
    rows = int(((frame["split"] == split) & frame["label"].notna()).sum())
    published = load_published_scores().of(inputs.dataset)
    return SplitBaselines(inputs.dataset, split, inputs.training, rows, without_biology, table, sources, published, inputs.marks)
