"""The kNN on the labelled pool's rows alone, and fused with the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.experiments.published.computed.pool_arms import fused_scores, load_pool, pool_priors
from core.experiments.published.sources import Computed, Sources
from core.stats.official_score import Score, point_score
from core.stats.scores_and_labels import scores_from_probabilities

ENCODER = "the numbers of a space depend on the build of its sentence encoder"
SVD = "the randomized SVD behind this space depends on the order of the texts and on the library's version"


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return one score. wanted: space, centre, arm (knn: over the rows with a prior; fused: at weight 0.5), axis (de or dir)."""
    space, centre, arm = wanted["space"], wanted.get("centre", False), wanted["arm"]
    score = sources.once(("pool", space, centre, arm), lambda: _score(sources, space, centre, arm))
    return Computed(getattr(score, wanted["axis"]), ENCODER if space == "minilm" else SVD)


def _score(sources: Sources, space: str, centre: bool, arm: str) -> Score:
    pool = load_pool(sources)
    if arm == "fused":
        return point_score(pool.labels, fused_scores(sources, space, centre))
    priors = pool_priors(sources, space, centre)
    known = priors.covered
    return point_score(pool.labels[known], scores_from_probabilities(priors.de[known], priors.up[known]))
