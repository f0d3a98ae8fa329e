"""Two thousand simulated decisions: how often the verdict errs where there is no effect, and where there is one."""

from __future__ import annotations

import numpy as np

from core.stats.arrays import Floats
from core.stats.comparison import compare, verdict_of
from core.stats.intervals import Interval
from core.stats.scores_and_labels import Scores
from soak.conftest import Record

PERTS, GENES = 40, 60
DATA_SETS, SHIFT = 2000, 0.08
LABELS = np.array(["up", "down", "none"], dtype=object)


def judged(seed: int, shift: float) -> Interval:
    """The difference of the means of DE and DIR of one simulated pair, with the interval shown."""
    rng = np.random.default_rng(seed)
    pert, gene = (
        axis.ravel() for axis in np.meshgrid(np.arange(PERTS), np.arange(GENES), indexing="ij")
    )
    labels = LABELS[rng.choice(3, len(pert), p=[0.31, 0.14, 0.55])]
    noise = [_shared_noise(rng, pert, gene) for _ in range(2)]
    a = _scores(rng, labels, noise, 0.3)
    b = _scores(rng, labels, noise, 0.3 + shift)
    return compare(labels, a, b, pert, gene).mean.change.shown


def _shared_noise(rng: np.random.Generator, pert: np.ndarray, gene: np.ndarray) -> Floats:
    return (
        rng.standard_normal(len(pert))
        + 0.3 * rng.standard_normal(PERTS)[pert]
        + 0.3 * rng.standard_normal(GENES)[gene]
    )


def _scores(
    rng: np.random.Generator, labels: np.ndarray, noise: list[Floats], clear: float
) -> Scores:
    """Scores of a run: `clear` is how far labels stand apart, in standard deviations of a row's noise."""
    de = clear * (labels != "none") + noise[0] + 0.7 * rng.standard_normal(len(labels))
    up = clear * (labels == "up") + noise[1] + 0.7 * rng.standard_normal(len(labels))
    return Scores(1 / (1 + np.exp(-de)), 1 / (1 + np.exp(-up)))


def test_verdicts_err_in_one_of_forty_at_most(record: Record) -> None:
    """At no effect and at one just worth having, whose size is the mean of all differences; 2.5% and the binomial's tolerance."""
    none = [judged(seed, 0.0) for seed in range(DATA_SETS)]
    some = [judged(seed, SHIFT) for seed in range(DATA_SETS)]
    smallest = float(np.mean([change.estimate for change in some]))
    at_0, at_smallest = (
        [verdict_of(change, smallest) for change in found] for found in (none, some)
    )
    confirmed = sum(verdict.startswith("confirmed") for verdict in at_0) / DATA_SETS
    rejected = sum(change.high < smallest for change in some) / DATA_SETS
    record(
        data_sets=DATA_SETS,
        smallest=f"{smallest:.4f}",
        confirmed_at_0=confirmed,
        rejected_at_smallest=rejected,
    )
    most = 0.025 + 2 * np.sqrt(0.025 * 0.975 / DATA_SETS)
    assert confirmed <= most
    assert rejected <= most
    for change, verdict in zip([*none, *some], [*at_0, *at_smallest], strict=True):
        assert verdict not in ("rejected", "harmful") or not change.low <= smallest <= change.high
