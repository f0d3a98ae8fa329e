"""Two hundred simulated ledgers: what the rule of a decision confirms where there is an effect, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from core.experiments.decision import decide
from core.stats.arrays import Floats
from core.stats.comparison import compare
from core.stats.intervals import Interval
from core.stats.power import detectable_difference
from core.stats.scores_and_labels import Scores
from core.stats.verdicts import Verdict, verdict_of
from soak.conftest import Record

LEDGERS, PERTS, GENES = 200, 40, 60
DATA_SETS, SHIFT = 2000, 0.08
LABELS = np.array(["up", "down", "none"], dtype=object)
MOST_WRONG = 17  # of 200: at a rate of 5%, 1.2% of all series have more (binomial)


def simulate(seed: int, shift: float) -> tuple[Verdict, float, float]:
    """Verdict, difference and detectable difference of one simulated pair of runs.

    Both runs see the label through noise of their own and noise that they share, and through effects of the perturbation and
    the gene; b sees it `shift` more clearly. The smallest effect worth having is the detectable difference of the pair itself.
    """
    found = judged(seed, shift)
    least = detectable_difference(found.se, df=found.df)
    return decide(found, least).verdict if shift else decide(found, 0.01).verdict, found.estimate, least


def judged(seed: int, shift: float) -> Interval:
    """The difference of the means of DE and DIR of one simulated pair, with the interval shown."""
    rng = np.random.default_rng(seed)
    pert, gene = (axis.ravel() for axis in np.meshgrid(np.arange(PERTS), np.arange(GENES), indexing="ij"))
    labels = LABELS[rng.choice(3, len(pert), p=[0.31, 0.14, 0.55])]
    noise = [_shared_noise(rng, pert, gene) for _ in range(2)]
    a = _scores(rng, labels, noise, 0.3)
    b = _scores(rng, labels, noise, 0.3 + shift)
    return compare(labels, a, b, pert, gene).mean.change.shown


def _shared_noise(rng: np.random.Generator, pert: np.ndarray, gene: np.ndarray) -> Floats:
    noise: Floats = (
        rng.standard_normal(len(pert)) + 0.3 * rng.standard_normal(PERTS)[pert] + 0.3 * rng.standard_normal(GENES)[gene]
    )
    return noise


def _scores(rng: np.random.Generator, labels: np.ndarray, noise: list[Floats], clear: float) -> Scores:
    """Scores of a run: `clear` is how far labels stand apart, in standard deviations of a row's noise."""
    de = clear * (labels != "none") + noise[0] + 0.7 * rng.standard_normal(len(labels))
    up = clear * (labels == "up") + noise[1] + 0.7 * rng.standard_normal(len(labels))
    return Scores(1 / (1 + np.exp(-de)), 1 / (1 + np.exp(-up)))


@pytest.fixture(scope="module")
def shift() -> float:
    """How much more clearly b has to see for a mean difference of twice the detectable one; found on other seeds."""
    low, high = 0.0, 2.0
    for _ in range(8):
        middle = (low + high) / 2
        found = np.array([simulate(seed, middle)[1:] for seed in range(10_000, 10_012)]).mean(axis=0)
        low, high = (middle, high) if found[0] < 2 * found[1] else (low, middle)
    return high


def test_an_effect_of_twice_the_detectable_difference_is_confirmed(shift: float, record: Record) -> None:
    found = [simulate(seed, shift) for seed in range(LEDGERS)]
    confirmed = sum(verdict == "confirmed" for verdict, *_ in found)
    difference, least = np.mean([numbers for _, *numbers in found], axis=0)
    record(ledgers=LEDGERS, confirmed=confirmed, difference=f"{difference:.3f}", detectable=f"{least:.3f}")
    assert confirmed >= 0.8 * LEDGERS


def test_without_an_effect_few_are_confirmed(record: Record) -> None:
    found = [simulate(seed, 0.0)[0] for seed in range(LEDGERS)]
    confirmed = found.count("confirmed")
    record(ledgers=LEDGERS, confirmed=confirmed, rejected=found.count("rejected"), undecided=found.count("undecided"))
    assert confirmed <= MOST_WRONG


def test_verdicts_err_in_one_of_forty_at_most(record: Record) -> None:
    """At no effect and at one just worth having, whose size is the mean of all differences; 2.5% and the binomial's tolerance."""
    none = [judged(seed, 0.0) for seed in range(DATA_SETS)]
    some = [judged(seed, SHIFT) for seed in range(DATA_SETS)]
    smallest = float(np.mean([change.estimate for change in some]))
    at_0, at_smallest = ([verdict_of(change, smallest) for change in found] for found in (none, some))
    confirmed = sum(verdict.startswith("confirmed") for verdict in at_0) / DATA_SETS
    rejected = sum(change.high < smallest for change in some) / DATA_SETS
    record(data_sets=DATA_SETS, smallest=f"{smallest:.4f}", confirmed_at_0=confirmed, rejected_at_smallest=rejected)
    most = 0.025 + 2 * np.sqrt(0.025 * 0.975 / DATA_SETS)
    assert confirmed <= most
    assert rejected <= most
    for change, verdict in zip([*none, *some], [*at_0, *at_smallest], strict=True):
        assert verdict not in ("rejected", "harmful") or not change.low <= smallest <= change.high
