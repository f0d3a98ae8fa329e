"""The labelled pool's model, the kNN on its rows, and the fusion of both. Several published numbers compare them.

The kNN is leave-one-out over all labelled rows of the challenge, so that a row sees no row of its perturbation or gene.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.experiments.published.sources import Sources
from core.stats.scores_and_labels import Scores
from core.transfer.fusion import Component, component_of, fuse, percentiles_of, weights_of
from core.transfer.knn import Priors
from core.transfer.labelled_rows import Rows
from core.transfer.protocols import EvaluationProtocol, KnnPrediction, SimilaritySettings, predict_priors


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The pool's rows: labels of shape (n_rows,), codes, and the model's probabilities."""

    labels: NDArray[np.object_]
    rows: Rows
    llm: Component


def load_pool(sources: Sources) -> Pool:
    """Return the pool and its model."""
    found, index = sources.run_rows("pool"), sources.index()
    frame, ids = found.frame, found.frame["pair_id"].tolist()
    at = index.positions_of(ids)
    llm = component_of("llm", ids, ids, frame["p_de"], frame["p_up_given_de"], frame["flags"].tolist())
    return Pool(index.labels[at], index.rows.take(at), llm)


def pool_priors(sources: Sources, space: str, centre: bool) -> Priors:
    """Return the kNN's priors of the pool's rows."""
    pool, known = load_pool(sources), sources.index().known

    def predict() -> KnnPrediction:
        settings = SimilaritySettings(centre=centre)
        return predict_priors(EvaluationProtocol("loo"), pool.rows, known, [sources.space(space)], settings)

    return sources.once(("pool priors", space, centre), predict).priors


def fused_scores(sources: Sources, space: str, centre: bool, w_de: float = 0.5, w_dir: float = 0.5) -> Scores:
    """Return the scores of the model fused with the kNN by rank percentiles, at the kNN's weights."""
    priors = pool_priors(sources, space, centre)
    components = [load_pool(sources).llm, Component("knn", priors.de, priors.up)]
    return fuse(percentiles_of(components), weights_of([w_de], [w_dir])).scores()
