"""kNN over a gene space as a baseline: the training rows weighted by how alike both of their symbols are to the row's."""

from __future__ import annotations

from core.experiments.benchmark_baselines.base import Prediction
from core.experiments.benchmark_baselines.material import Material
from core.transfer.knn import Similarities, Weighting, knn_priors
from core.transfer.similarity import OwnSimilarity, Space, cosine_similarity

WEIGHTING = Weighting(axis="both")


def predict_by_space(material: Material, space: Space) -> Prediction:
    """The priors of the rows to predict from all training rows (protocol test), by a product of both axes' similarities.

    A symbol is like itself even where the space does not cover it: a gene's own training rows count for it, weighted by their
    perturbations. Similar genes alone would tell all perturbations of a gene alike, which scores 0.5 in each gene.
    """
    similar = OwnSimilarity(cosine_similarity([space]))
    found = knn_priors(material.rows, material.known, Similarities(similar, similar), WEIGHTING)
    return Prediction(found.de, found.up, f"{space.columns.shape[1]} columns, power {WEIGHTING.power:g}, all neighbours")
