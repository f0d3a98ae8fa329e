"""Baselines from relations between genes: kNN over a gene space, and edges of the network.

A kNN weights the training rows by the similarity of both symbols to the row's.
"""

from __future__ import annotations

import numpy as np

from core.features.perturbqa.baselines.material import (
    NO_DESCRIPTIONS,
    NO_NETWORK,
    KnowledgeBaseline,
    Material,
    Prediction,
    require,
)
from core.transfer.knn import Similarities, Weighting, knn_priors
from core.transfer.similarity import OwnSimilarity, Space, cosine_similarity

WEIGHTING = Weighting(axis="both")


def predict_by_space(material: Material, space: Space) -> Prediction:
    """Return the priors of the rows to predict from all training rows (protocol test), with the
    product of both axes' similarities.

    A symbol is similar to itself even if the space does not cover it, so a gene's own training rows
    count, weighted by their perturbations. Similar genes alone would give all perturbations of a
    gene the same score, an AUROC of 0.5 in each gene.
    """
    similar = OwnSimilarity(cosine_similarity([space]))
    found = knn_priors(material.rows, material.known, Similarities(similar, similar), WEIGHTING)
    return Prediction(
        found.de,
        found.up,
        f"{space.columns.shape[1]} columns, power {WEIGHTING.power:g}, all neighbours",
    )


def _by_edge(material: Material) -> Prediction:
    graph = require(material.genes.graph, NO_NETWORK)
    joined = graph.are_joined(material.rows)
    known = graph.covered[material.rows.pert] & graph.covered[material.rows.gene]
    return Prediction(
        np.where(known, joined.astype(np.float64), np.nan),
        None,
        f"{joined.mean():.1%} of rows are joined",
    )


TEXT = KnowledgeBaseline(
    name="text kNN",
    about=(
        "kNN: training rows weighted by the similarity of perturbation and gene in words of gene"
        " descriptions (TF-IDF)"
    ),
    make=lambda material: predict_by_space(material, require(material.genes.text, NO_DESCRIPTIONS)),
)

NETWORK = KnowledgeBaseline(
    name="network kNN",
    about=(
        "kNN: training rows weighted by the similarity of perturbation and gene in network"
        " neighbourhoods"
    ),
    make=lambda material: predict_by_space(material, require(material.genes.network, NO_NETWORK)),
)
EDGE = KnowledgeBaseline(
    name="physical edge",
    about="1 if an edge of the network joins perturbation and gene, otherwise 0; no direction",
    make=_by_edge,
)
