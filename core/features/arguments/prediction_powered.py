"""The rate of an answer over all texts of a run, from a judge's readings of all of them and
people's labels of a sample.

The judge's rate is biased by its errors, the labels' rate is noisy; the prediction-powered one is
unbiased whatever the judge does, and the less noisy the better the judge is. With weights w (one
over the probability of being in the sample), f the mean reading of all texts, and y_w and f_w the
weighted means of labels and readings of the labelled ones,

    rate = y_w - λ (f_w - f),    λ in [0, 1] of the smallest variance, Cov(y_w, f_w - f) / Var(f_w -
    f).

λ = 0 is the rate of the labels alone, so a judge that knows nothing costs nothing. Angelopoulos,
Duchi and Zrnic 2023 (PPI++, arXiv:2311.01453); the same as the difference estimator of survey
sampling (Särndal, Swensson and Wretman 1992, chapter 6).

The variance is that of the sum of every text's influence, clustered by perturbation and gene. Two
corrections make the interval hold with few labels of a rare answer, where rate ± 2 standard errors
is too short and may be of length 0:

- the variance of the labels is taken with one yes and one no more for each answer of the judge
  (Agresti and Caffo 2000; Price and Bonett 2004), so that an answer all of whose labels agree still
  counts as uncertain;
- the limits are Wilson's (1927) for as many independent labels as would have this variance, with
  Student's t for the clusters (Korn and Graubard 1998; Franco et al. 2019), not symmetric ones
  around the rate.

How often these intervals hold the truth: `soak/test_rubric_rates.py`. `ppi-python` is not suitable:
its interval of a mean supports weights but not clusters, and it is symmetric around the rate, which
is too short for rare answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.stats import validate
from core.stats.arrays import Bools, Codes, Floats
from core.stats.clustered_mean import Part, sum_of_parts
from core.stats.intervals import Interval, wilson_limits

PSEUDO_LABELS = 2  # a yes and a no for each answer of the judge
ROUNDING = 1e-24  # a variance below it is that of rounding: texts by the million still bring 1e-12
WILSON = (
    "Wilson's limits for the effective number of texts, clustered by perturbation and gene,"
    " Student's t"
)


@dataclass(frozen=True, slots=True, eq=False)
class JudgedTexts:
    """The answers of a judge and of people about texts, each array of shape (n_texts,).

    reading: 1 for the answer, 0 for another one, or the judge's probability of the answer; NaN if
    unread. says_yes: whether it is the judge's answer. label: 1 or 0 by people, NaN without.
    weight: one over the probability of choosing the text for labelling, on any scale; 0 without a
    label. pert, gene: codes.
    """

    reading: Floats
    says_yes: Bools
    label: Floats
    weight: Floats
    pert: Codes
    gene: Codes

    @classmethod
    def of(
        cls,
        reading: ArrayLike,
        label: ArrayLike,
        weight: ArrayLike,
        pert: ArrayLike,
        gene: ArrayLike,
        says_yes: ArrayLike | None = None,
    ) -> Self:
        """Return the texts; says_yes: by default a reading of at least .5; pert, gene: names or
        codes."""
        readings, labels = (np.asarray(each, dtype=np.float64) for each in (reading, label))
        yes = readings >= 0.5 if says_yes is None else np.asarray(says_yes, dtype=np.bool_)
        weights = np.where(np.isnan(labels), 0.0, np.asarray(weight, dtype=np.float64))
        return cls(readings, yes, labels, weights, *validate.axes(pert, gene))

    def __len__(self) -> int:
        return len(self.reading)

    @property
    def is_read(self) -> Bools:
        """Flags of the texts that the judge could read."""
        return ~np.isnan(self.reading)

    @property
    def is_labelled(self) -> Bools:
        """Flags of the texts that people labelled."""
        return self.weight > 0


@dataclass(frozen=True, slots=True)
class RateEstimate:
    """A rate with its interval; NaN without texts. effective_n: the number of independent texts
    with the same information. power: λ."""

    interval: Interval
    effective_n: float
    power: float = 0.0


def raw_rate(texts: JudgedTexts) -> Interval:
    """Return the share of the read texts to which the judge gives the answer.

    Its interval ignores the judge's errors.
    """
    return _weighted_share(texts, texts.says_yes, texts.is_read.astype(np.float64))


def sensitivity(texts: JudgedTexts) -> Interval:
    """Return the share that the judge gives the answer of the texts that people give the answer."""
    return _weighted_share(
        texts, texts.says_yes, texts.weight * ((texts.label == 1) & texts.is_read)
    )


def specificity(texts: JudgedTexts) -> Interval:
    """Return the share that the judge gives another answer of those that people give another."""
    return _weighted_share(
        texts, ~texts.says_yes, texts.weight * ((texts.label == 0) & texts.is_read)
    )


def labels_only_rate(texts: JudgedTexts) -> RateEstimate:
    """Return the rate from only the labels and their weights. Raise InputError without labels."""
    return _rate(texts, 0.0)


def corrected_rate(texts: JudgedTexts) -> RateEstimate:
    """Return the prediction-powered rate, or that of only the labels if that is more precise.

    Raise InputError without a label.
    """
    # The λ of the smallest variance of independent texts, cut to [0, 1]
    share, readings, label = _shares(texts), _readings_for_all(texts), np.nan_to_num(texts.label)
    of_labels = share * (label - share @ label)
    of_gap = share * (readings - share @ readings) - (readings - readings.mean()) / len(texts)
    variance = of_gap @ of_gap
    return max(
        _rate(
            texts,
            float(np.clip(of_labels @ of_gap / variance, 0.0, 1.0)) if variance > ROUNDING else 0.0,
        ),
        labels_only_rate(texts),
        key=lambda rate: rate.effective_n,
    )


def _weighted_share(texts: JudgedTexts, flags: Bools, weight: Floats) -> Interval:
    """Return the weighted share of `flags`, of shape (n_texts,), with Wilson's limits for Kish's
    effective number of texts."""
    counts, total = weight > 0, weight.sum()
    if total == 0:
        nan = float("nan")
        return Interval(nan, nan, nan, nan, 0, "row", WILSON)
    share = weight / total
    rate = fsum(weight[flags & counts]) / fsum(weight[counts])  # exactly 1 where all have it
    return _with_limits(
        texts, [Part(rate, share * (flags - rate), counts)], 1 / float(share @ share)
    ).interval


def _readings_for_all(texts: JudgedTexts) -> Floats:
    """Return the readings; an unread text gets their mean. This causes no bias, because any
    function of the texts may be the judge.
    """
    read = texts.is_read
    return np.where(read, texts.reading, texts.reading[read].mean() if read.any() else 0.0)


def _shares(texts: JudgedTexts) -> Floats:
    total = texts.weight.sum()
    if total == 0:
        raise InputError(f"labels: none of {len(texts):,} texts has one; expected a sample of them")
    shares: Floats = texts.weight / total
    return shares


def _rate(texts: JudgedTexts, power: float) -> RateEstimate:
    share, scaled = _shares(texts), power * _readings_for_all(texts)
    residual = np.nan_to_num(texts.label) - scaled
    left, of_judge = float(share @ residual), float(scaled.mean())
    parts = [Part(left, share * (residual - left), texts.is_labelled)]
    if power > 0:
        parts.append(
            Part(of_judge, (scaled - of_judge) / len(texts), np.ones(len(texts), dtype=np.bool_))
        )
    # The weighted rate of the labels and the variance of their mean residual `left`. Each has one
    # more yes and one more no for each answer of the judge, with the mean weight and reading of the
    # labelled texts with that answer.
    smoothed = variance = 0.0
    for chosen in (texts.is_labelled & texts.says_yes, texts.is_labelled & ~texts.says_yes):
        n = int(chosen.sum())
        if n == 0:
            continue
        labels = np.append(texts.label[chosen], (1.0, 0.0))
        readings = np.append(scaled[chosen], 2 * [scaled[chosen].mean()])
        weights = np.append(share[chosen], 2 * [share[chosen].mean()]) * n / (n + PSEUDO_LABELS)
        influence = weights * (labels - readings - left)
        smoothed += float(weights @ labels)
        variance += float(influence @ influence)
    smoothed += of_judge - float(share @ scaled)
    most = 1 - 1 / (int(texts.is_labelled.sum()) + PSEUDO_LABELS)
    smoothed = float(np.clip(smoothed, 1 - most, most))
    for part in parts[1:]:
        variance += float(2 * parts[0].influence @ part.influence + part.influence @ part.influence)
    return _with_limits(texts, parts, smoothed * (1 - smoothed) / variance, power)


def _with_limits(
    texts: JudgedTexts, parts: list[Part], independent_n: float, power: float = 0.0
) -> RateEstimate:
    """Return the sum of the parts with Wilson's limits; independent_n: its effective number if
    texts were independent.

    Clusters divide it by how many times they make the variance larger (never smaller); the standard
    error is theirs.
    """
    shown = sum_of_parts(parts, texts.pert, texts.gene).shown
    influence = np.sum([part.influence for part in parts], axis=0)
    variance = float(influence @ influence)
    inflation = (
        max(1.0, shown.se**2 / variance) if variance > ROUNDING and np.isfinite(shown.se) else 1.0
    )
    n, rate = independent_n / inflation, float(np.clip(shown.estimate, 0.0, 1.0))
    low, high = wilson_limits(rate, n, shown.quantile)
    return RateEstimate(replace(shown, estimate=rate, low=low, high=high, method=WILSON), n, power)
