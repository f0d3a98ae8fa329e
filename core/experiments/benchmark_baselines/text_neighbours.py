"""text kNN: training rows weighted by how alike both symbols are in words of gene descriptions (TF-IDF)."""

from __future__ import annotations

from core.experiments.benchmark_baselines.base import KnowledgeBaseline, Prediction
from core.experiments.benchmark_baselines.material import NO_DESCRIPTIONS, Material
from core.experiments.benchmark_baselines.space_neighbours import predict_by_space


def _make(material: Material) -> Prediction:
    space = material.genes.text
    assert space is not None
    return predict_by_space(material, space)


BASELINE = KnowledgeBaseline(
    name="text kNN",
    about="kNN: training rows weighted by how alike perturbation and gene are in words of gene descriptions (TF-IDF)",
    place=30,
    find_lacking=lambda material: "" if material.genes.text is not None else NO_DESCRIPTIONS,
    make=_make,
)
