"""physical edge: a gene changes if an edge of the network joins it with the perturbation."""

from __future__ import annotations

import numpy as np

from core.experiments.benchmark_baselines.base import KnowledgeBaseline, Prediction
from core.experiments.benchmark_baselines.material import NO_NETWORK, Material


def _make(material: Material) -> Prediction:
    graph = material.genes.graph
    assert graph is not None
    joined = graph.are_joined(material.rows)
    known = graph.covered[material.rows.pert] & graph.covered[material.rows.gene]
    return Prediction(np.where(known, joined.astype(np.float64), np.nan), None, f"{joined.mean():.1%} of rows are joined")


BASELINE = KnowledgeBaseline(
    name="physical edge",
    about="1 if an edge of the network joins perturbation and gene, else 0; it says nothing of a direction",
    place=20,
    find_lacking=lambda material: "" if material.genes.graph is not None else NO_NETWORK,
    make=_make,
)
