"""Paired bootstrap of the mean score: ours against two loops as a person writes them, all timed in the same run.

One reference calls scikit-learn's roc_auc_score on every resample, the other ranks every resample anew with SciPy's
rankdata. They draw the same rows as ours does, so that on their resamples the three agree to rounding.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import numpy as np
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from core.stats.arrays import Bools, Codes, Floats
from core.stats.bootstrap import ResamplingPlan, ResamplingUnit, bootstrap_difference
from core.stats.influence import covariance, influence_of
from core.stats.intervals import Resampled
from core.stats.scores_and_labels import Scores, Task, scores_from_probabilities

N_ROWS, N_PERTS, N_GENES, RESAMPLES, REFERENCE_RESAMPLES, SEED = 7705, 386, 1570, 4000, 200, 7
Auroc = Callable[[Bools, Floats], float]


def run() -> dict[str, Any]:
    """Seconds, ratios, differences of interval ends and peak memory.

    The references run `reference_resamples` resamples and their times are scaled up to `resamples`. max_abs_diff
    compares the ends of our interval with theirs on those same resamples; max_abs_diff_other_seed those of our full
    interval and of a second one from another seed, and monte_carlo_error is what chance alone allows that to be.
    """
    labels, a, b, pert, gene = simulated_runs(SEED)
    plans = [ResamplingPlan(unit, SEED) for unit in get_args(ResamplingUnit)]
    ours = {
        plan.unit: _timed(partial(bootstrap_difference, labels, a, b, plan, pert, gene))
        for plan in plans
    }
    scale = RESAMPLES / REFERENCE_RESAMPLES
    reference_s, sklearn_values = _timed(
        lambda: _loop(roc_auc_score, labels, a, b, REFERENCE_RESAMPLES), repeats=1
    )
    rerank_s, rerank_values = _timed(
        lambda: _loop(_rankdata_auroc, labels, a, b, REFERENCE_RESAMPLES), repeats=1
    )
    ours_s, full = ours["row"]
    few = bootstrap_difference(
        labels, a, b, ResamplingPlan("row", SEED, REFERENCE_RESAMPLES), pert, gene
    ).mean
    other = bootstrap_difference(labels, a, b, ResamplingPlan("row", SEED + 1), pert, gene).mean
    return {
        "name": "bootstrap",
        "rows": N_ROWS,
        "resamples": RESAMPLES,
        "reference_resamples": REFERENCE_RESAMPLES,
        "ours_s": ours_s,
        "reference_s": reference_s * scale,
        "rerank_s": rerank_s * scale,
        "ratio": reference_s * scale / ours_s,
        "ratio_rerank": rerank_s * scale / ours_s,
        "max_abs_diff": max(
            _end_difference(few, _ends(v)) for v in (sklearn_values, rerank_values)
        ),
        "max_abs_diff_other_seed": _end_difference(full.mean, (other.low, other.high)),
        "monte_carlo_error": _end_error(full.mean.se),
        "clustered_s": {unit: ours[unit][0] for unit in ("pert", "gene", "two-way")},
        "delong_ms": 1000
        * _timed(lambda: _paired_delong(labels != "none", a.p_de, b.p_de), repeats=9)[0],
        "peak_mb_ours": _peak_mb(
            lambda: bootstrap_difference(labels, a, b, ResamplingPlan("row", SEED), pert, gene)
        ),
        "peak_mb_reference": _peak_mb(lambda: _loop(roc_auc_score, labels, a, b, 5)),
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


def _loop(auroc: Auroc, labels: Any, a: Scores, b: Scores, resamples: int) -> Floats:
    """The mean score of b less that of a in every resample, one resample after the other."""
    rng = np.random.default_rng([SEED, 0])
    is_effect, is_up = labels != "none", labels == "up"
    changes = np.empty(resamples)
    for r in range(resamples):
        rows = rng.integers(0, len(labels), len(labels))
        effect = is_effect[rows]
        up = is_up[rows][effect]
        de, direction = (
            auroc(effect, b.p_de[rows]) - auroc(effect, a.p_de[rows]),
            auroc(up, b.p_up[rows][effect]) - auroc(up, a.p_up[rows][effect]),
        )
        changes[r] = (de + direction) / 2
    return changes


def _rankdata_auroc(positive: Bools, values: Floats) -> float:
    n_positive = int(positive.sum())
    ranks = rankdata(values)[positive].sum()
    return float(
        (ranks - n_positive * (n_positive + 1) / 2) / (n_positive * (len(values) - n_positive))
    )


def _ends(values: Floats) -> tuple[float, float]:
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def _end_difference(interval: Resampled, ends: tuple[float, float]) -> float:
    return max(abs(interval.low - ends[0]), abs(interval.high - ends[1]))


def _end_error(se: float) -> float:
    """Standard error of the difference of two independent 2.5% quantiles of a normal with standard deviation `se`."""
    density = np.exp(-(1.96**2) / 2) / np.sqrt(2 * np.pi)
    return float(np.sqrt(2) * se * np.sqrt(0.025 * 0.975 / RESAMPLES) / density)


def _timed(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The best of some repeats in seconds, and what the work returned."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def _peak_mb(work: Callable[[], Any]) -> float:
    """The most memory that Python and NumPy held at once during the work, in MB."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
