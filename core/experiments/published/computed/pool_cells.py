"""The labelled pool's model and its fusion with a kNN under folds, both scored inside the doubly-disjoint cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.experiments.published.computed.pool_arms import load_pool
from core.experiments.published.sources import Computed, Sources
from core.stats.arrays import Floats
from core.transfer.fusion import Component, weights_of
from core.transfer.live_fusion import live_fusion
from core.transfer.protocols import EvaluationProtocol, SimilaritySettings, cells_of, parts_of, predict_priors


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return the mean over cuts. wanted: space, centre, arm (llm or fused), axis (de or dir)."""
    space, centre = wanted["space"], wanted.get("centre", False)
    values = sources.once(
        ("pool cells", space, centre),
        lambda: np.array([_score_cut(sources, space, centre, seed) for seed in range(sources.cuts)]),
    )
    column = ("llm", "fused").index(wanted["arm"]) * 2 + ("de", "dir").index(wanted["axis"])
    return Computed(float(values[:, column].mean()), noise_of_cuts(values[:, column]))


def noise_of_cuts(values: Floats) -> str:
    """Describe the noise of the cuts in a mean over cuts; values: of shape (n_cuts,)."""
    n = len(values)
    if n < 2:
        return "ours is from one cut of the folds, the published one is the mean of four"
    return (
        f"different cuts of the folds: ours is the mean of seeds 0–{n - 1}, which range from {values.min():.3f} to "
        f"{values.max():.3f}, so the mean of {n} cuts has a standard error of {values.std(ddof=1) / np.sqrt(n):.3f}"
    )


def _score_cut(sources: Sources, space: str, centre: bool, seed: int) -> tuple[float, float, float, float]:
    """Return DE and DIR of the model, then of the fusion at weight 0.5, inside the cells of one cut."""
    pool, index = load_pool(sources), sources.index()
    protocol, known = EvaluationProtocol("folds", 5, seed), index.known
    settings = SimilaritySettings(centre=centre)
    priors = predict_priors(protocol, pool.rows, known, [sources.space(space)], settings).priors
    cells = cells_of(protocol, pool.rows, parts_of(protocol, pool.rows, known.rows))
    arms = [pool.llm, Component("knn", priors.de, priors.up)]
    found = live_fusion(pool.labels, pool.rows, arms, cells=cells).score_at(weights_of([0.5], [0.5]))
    return found.de.before.value, found.dir.before.value, found.de.after.value, found.dir.after.value
