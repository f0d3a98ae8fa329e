"""Two thousand simulated decisions: how often the verdict errs where there is no effect, and where there is one."""

from __future__ import annotations

import numpy as np

from core.stats.comparison import compare, verdict_of
from core.stats.intervals import Interval
from soak.conftest import Record
from tests.stats.simulations import Design, simulated_pair

DESIGN, AUROC = Design(40, 60, 2400, 0.3, 0.3), 0.57  # every pair of a perturbation and a gene
DATA_SETS, GAIN = 2000, 0.08


def judged(seed: int, gain: float) -> Interval:
    """The difference of the means of DE and DIR of one simulated pair, with the interval shown."""
    pair = simulated_pair(np.random.default_rng(seed), DESIGN, AUROC, gain)
    return compare(pair.labels, *pair.runs, pair.pert, pair.gene).mean.change.shown


def test_verdicts_err_in_one_of_forty_at_most(record: Record) -> None:
    """At no effect and at one just worth having, whose size is the mean of all differences; 2.5% and the binomial's tolerance."""
    none = [judged(seed, 0.0) for seed in range(DATA_SETS)]
    some = [judged(seed, GAIN) for seed in range(DATA_SETS)]
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
