"""Paired bootstrap of the mean score: ours against a loop as a person writes it, both timed in the same run.

The loop calls scikit-learn's roc_auc_score on every resample. It draws the same rows as ours does, so that on its
resamples the two agree to rounding.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import numpy as np
from sklearn.metrics import roc_auc_score

from bench.measure import times_once
from core.stats.arrays import Bools, Codes, Floats
from core.stats.bootstrap import ResamplingPlan, ResamplingUnit, bootstrap_difference
from core.stats.influence import covariance, influence_of
from core.stats.intervals import Resampled
from core.stats.scores_and_labels import Scores, Task, scores_from_probabilities

N_ROWS, N_PERTS, N_GENES, RESAMPLES, REFERENCE_RESAMPLES, SEED = 7705, 386, 1570, 4000, 200, 7


def run() -> dict[str, Any]:
    """Seconds, their ratio, the difference of interval ends and peak memory.

    The reference runs `reference_resamples` resamples and its time is scaled up to `resamples`. max_abs_diff compares
    the ends of our interval with its own on those same resamples.
    """
    labels, a, b, pert, gene = simulated_runs(SEED)

    def difference(unit: ResamplingUnit, resamples: int = RESAMPLES) -> Resampled:
        plan = ResamplingPlan(unit, SEED, resamples)
        return bootstrap_difference(labels, a, b, plan, pert, gene).mean

    ours_s = {unit: _best_s(partial(difference, unit), 3) for unit in get_args(ResamplingUnit)}
    changes = []
    reference_s = _best_s(lambda: changes.append(_loop(labels, a, b, REFERENCE_RESAMPLES)), 1)
    reference_s *= RESAMPLES / REFERENCE_RESAMPLES
    few = difference("row", REFERENCE_RESAMPLES)
    ends = np.quantile(changes[0], (0.025, 0.975))
    return {
        "name": "bootstrap",
        "rows": N_ROWS,
        "resamples": RESAMPLES,
        "reference_resamples": REFERENCE_RESAMPLES,
        "ours_s": ours_s["row"],
        "reference_s": reference_s,
        "ratio": reference_s / ours_s["row"],
        "max_abs_diff": float(np.abs([few.low, few.high] - ends).max()),
        "clustered_s": {unit: ours_s[unit] for unit in ("pert", "gene", "two-way")},
        "delong_ms": 1000 * _best_s(lambda: _paired_delong(labels != "none", a.p_de, b.p_de), 9),
        "peak_mb_ours": _peak_mb(lambda: difference("row")),
        "peak_mb_reference": _peak_mb(lambda: _loop(labels, a, b, 5)),
    }


def _paired_delong(positive: Bools, *values: Floats) -> Floats:
    """DeLong's covariance of the AUROCs of two runs."""
    return covariance(
        influence_of([Task(np.ones_like(positive), positive, each) for each in values])
    )


def simulated_runs(seed: int) -> tuple[Any, Scores, Scores, Codes, Codes]:
    """Labels, two correlated runs without ties (the slowest case) and the axes' codes, as many as in the challenge."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(["up", "down", "none"], N_ROWS, p=[0.306, 0.141, 0.553])
    effect = 0.3 * (labels != "none") + rng.normal(size=N_ROWS)
    up = 0.3 * (labels == "up") + rng.normal(size=N_ROWS)
    runs = [
        scores_from_probabilities(effect + rng.normal(size=N_ROWS), up + rng.normal(size=N_ROWS))
        for _ in range(2)
    ]
    return (
        labels,
        runs[0],
        runs[1],
        rng.integers(0, N_PERTS, N_ROWS),
        rng.integers(0, N_GENES, N_ROWS),
    )


def _loop(labels: Any, a: Scores, b: Scores, resamples: int) -> Floats:
    """The mean score of b less that of a in every resample, one resample after the other."""
    rng = np.random.default_rng([SEED, 0])
    is_effect, is_up = labels != "none", labels == "up"
    changes = np.empty(resamples)
    for r in range(resamples):
        rows = rng.integers(0, len(labels), len(labels))
        effect = is_effect[rows]
        up = is_up[rows][effect]
        de, direction = (
            roc_auc_score(effect, b.p_de[rows]) - roc_auc_score(effect, a.p_de[rows]),
            roc_auc_score(up, b.p_up[rows][effect]) - roc_auc_score(up, a.p_up[rows][effect]),
        )
        changes[r] = (de + direction) / 2
    return changes


def _best_s(work: Callable[[], object], repeats: int) -> float:
    """The least seconds of some repeats."""
    return min(times_once(work)[0] for _ in range(repeats))


def _peak_mb(work: Callable[[], Any]) -> float:
    """The most memory that Python and NumPy held at once during the work, in MB."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
