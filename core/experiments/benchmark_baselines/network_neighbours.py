"""network kNN: training rows weighted by how alike both symbols are in neighbourhoods in the network."""

from __future__ import annotations

from core.experiments.benchmark_baselines.base import KnowledgeBaseline, Prediction
from core.experiments.benchmark_baselines.material import NO_NETWORK, Material
from core.experiments.benchmark_baselines.space_neighbours import predict_by_space


def _make(material: Material) -> Prediction:
    space = material.genes.network
    assert space is not None
    return predict_by_space(material, space)


BASELINE = KnowledgeBaseline(
    name="network kNN",
    about="kNN: training rows weighted by how alike perturbation and gene are in neighbourhoods in the network",
    place=40,
    find_lacking=lambda material: "" if material.genes.network is not None else NO_NETWORK,
    make=_make,
)
