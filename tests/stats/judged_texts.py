"""Texts of a run with a judge whose errors are known, and labels of a sample: rates whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import product
from typing import Literal

import numpy as np
from scipy.special import ndtri

from core.features.arguments.prediction_powered import (
    JudgedTexts,
    corrected_rate,
    labels_only_rate,
    raw_rate,
)

TEXTS, PERTS, GENES = (
    2000,
    333,
    400,
)  # about 6 texts per perturbation and 5 per gene, as in the pool of numbers.md
SENSITIVITY, SPECIFICITY = 0.8, 0.9
OF_LABELS, OF_ERRORS = (
    0.1,
    0.2,
)  # share of the variance behind labels, and behind errors, that each axis has


@dataclass(frozen=True)
class Setting:
    """One line of the simulation."""

    rate: float
    labels: int
    design: Literal["simple", "stratified"]
    perts: int = PERTS
    genes: int = GENES

    def __str__(self) -> str:
        return f"{self.rate}-{self.labels}-{self.design}-{self.perts}x{self.genes}"


SETTINGS = [
    Setting(rate, n, design)
    for rate, n, design in product((0.05, 0.3, 0.6), (100, 400), ("simple", "stratified"))
]


def expected_raw_error(rate: float) -> float:
    """What the judge's rate is off by: what it wrongly gives the answer less what it misses."""
    return (1 - rate) * (1 - SPECIFICITY) - rate * (1 - SENSITIVITY)


def simulated_texts(rng: np.random.Generator, setting: Setting) -> JudgedTexts:
    """Texts that share perturbations and genes in their answers and, more so, in the judge's errors; a sample is labelled."""
    pert, gene = rng.integers(0, setting.perts, TEXTS), rng.integers(0, setting.genes, TEXTS)

    def latent(share: float) -> np.ndarray:
        shared = rng.normal(size=setting.perts)[pert] + rng.normal(size=setting.genes)[gene]
        return np.sqrt(share) * shared + np.sqrt(1 - 2 * share) * rng.normal(size=TEXTS)

    is_yes = latent(OF_LABELS) < ndtri(setting.rate)
    says_yes = latent(OF_ERRORS) < ndtri(np.where(is_yes, SENSITIVITY, 1 - SPECIFICITY))
    weight = _weights(rng, says_yes, setting)
    label = np.where(weight > 0, is_yes, np.nan)
    return JudgedTexts.of(says_yes.astype(float), label, weight, pert, gene)


def _weights(rng: np.random.Generator, says_yes: np.ndarray, setting: Setting) -> np.ndarray:
    """One over the probability of being labelled, 0 without a label; stratified: as many of each answer of the judge."""
    strata = (
        [np.arange(TEXTS)]
        if setting.design == "simple"
        else [np.flatnonzero(says_yes), np.flatnonzero(~says_yes)]
    )
    weight = np.zeros(TEXTS)
    for stratum in strata:
        drawn = rng.permutation(stratum)[: setting.labels // len(strata)]
        weight[drawn] = len(stratum) / len(drawn)
    return weight


@dataclass(frozen=True)
class Found:
    """Of many data sets: how often each interval held the rate, their mean widths, and how far the rates were off on average."""

    raw_error: float
    raw_coverage: float
    labels_coverage: float
    corrected_coverage: float
    corrected_error: float
    labels_width: float
    corrected_width: float

    def __str__(self) -> str:
        return ", ".join(f"{each.name} {getattr(self, each.name):.4f}" for each in fields(self))


def simulate_rates(setting: Setting, number: int) -> Found:
    """The three rates of `number` data sets."""
    raw, labels, corrected = (
        np.array(each) for each in zip(*_limits(setting, number), strict=True)
    )

    def coverage(limits: np.ndarray) -> float:
        return float(np.mean((limits[:, 0] <= setting.rate) & (setting.rate <= limits[:, 1])))

    return Found(
        float(raw[:, 2].mean() - setting.rate),
        coverage(raw),
        coverage(labels),
        coverage(corrected),
        float(corrected[:, 2].mean() - setting.rate),
        float(np.diff(labels[:, :2]).mean()),
        float(np.diff(corrected[:, :2]).mean()),
    )


def _limits(setting: Setting, number: int) -> Iterator[list[tuple[float, float, float]]]:
    for seed in range(number):
        texts = simulated_texts(np.random.default_rng([seed, 4]), setting)
        found = [
            raw_rate(texts),
            *(rate(texts).interval for rate in (labels_only_rate, corrected_rate)),
        ]
        yield [(each.low, each.high, each.estimate) for each in found]
