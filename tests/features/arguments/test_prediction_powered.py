"""Rates from a judge and labels: by hand, against scikit-free loops, and how often their intervals hold the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.features.arguments.prediction_powered import (
    JudgedTexts,
    corrected_rate,
    labels_only_rate,
    raw_rate,
    sensitivity,
    specificity,
)
from core.stats.intervals import Z95, wilson_limits
from tests.stats.judged_texts import Setting, expected_raw_error, simulate_rates, simulated_texts
from tests.strength import examples

NAN = np.nan


def alone(
    reading: list[float], label: list[float], weight: list[float] | None = None
) -> JudgedTexts:
    """Texts that share neither a perturbation nor a gene."""
    n = np.arange(len(reading))
    return JudgedTexts.of(reading, label, weight or [float(each == each) for each in label], n, n)


def by_hand() -> JudgedTexts:
    """Ten times ten texts, of which the judge gives four the answer; six labels, two of them against the judge."""
    return alone(10 * [1, 1, 1, 1, 0, 0, 0, 0, 0, 0], 10 * [1, 1, 0, NAN, 0, 0, 1, NAN, NAN, NAN])


def test_the_rates_of_texts_by_hand() -> None:
    texts = by_hand()
    assert raw_rate(texts).estimate == 0.4
    # 3 of 6, as a dot product of 60 shares: in which order it is summed is up to the processor's BLAS, 60 roundings of 1e-16.
    assert labels_only_rate(texts).interval.estimate == pytest.approx(0.5, abs=1e-14)
    assert sensitivity(texts).estimate == pytest.approx(2 / 3)
    assert specificity(texts).estimate == pytest.approx(2 / 3)
    found = corrected_rate(texts)
    # The judge gives 3 of 6 labelled ones the answer. Of ten texts: centred labels ±1/12, gaps ±1/12 less .6/10 or -.4/10.
    labels = np.array([1, 1, -1, -1, -1, 1]) / 12
    gaps = np.array([1, 1, 1, -1, -1, -1]) / 12 - np.array([0.06, 0.06, 0.06, -0.04, -0.04, -0.04])
    power = labels @ gaps / (gaps @ gaps + 0.06**2 + 3 * 0.04**2)
    assert 0 < power < 1
    assert found.power == pytest.approx(power)
    assert found.interval.estimate == pytest.approx(0.5 - power * (0.5 - 0.4))


def test_weights_undo_a_sample_that_prefers_one_answer() -> None:
    """20 of 100 texts are read as the answer; of 10 labels each, 8 and 1 say so: a rate of (20 · .8 + 80 · .1) / 100."""
    label = [1.0] * 8 + [0.0] * 2 + [NAN] * 10 + [1.0] + [0.0] * 9 + [NAN] * 70
    texts = alone([1.0] * 20 + [0.0] * 80, label, [2.0] * 20 + [8.0] * 80)
    for rate in (labels_only_rate, corrected_rate):
        assert rate(texts).interval.estimate == pytest.approx(0.24)
    narrow, wide = corrected_rate(texts).interval, labels_only_rate(texts).interval
    assert narrow.high - narrow.low < wide.high - wide.low
    assert sensitivity(texts).estimate == pytest.approx(16 / 24)


@examples(20)
@given(st.integers(0, 60), st.integers(1, 3))
def test_labels_of_independent_texts_have_wilsons_interval(n_yes: int, scale: int) -> None:
    """Without a judge that tells texts apart: as many texts as there are labels and two pseudo-labels, Student's t for 59."""
    n = 60
    texts = alone([0.0] * n, [1.0] * n_yes + [0.0] * (n - n_yes), [float(scale)] * n)
    found, plain = labels_only_rate(texts), wilson_limits(n_yes / n, n, Z95)
    assert found.effective_n <= n + 2 + 1e-9
    assert found.interval.estimate == pytest.approx(n_yes / n)
    assert (found.interval.low, found.interval.high) == pytest.approx(plain, abs=0.01)
    assert found.interval.low < found.interval.high
    assert corrected_rate(texts).power == 0  # a judge that says the same of all says nothing


def test_a_judge_that_is_always_right_is_taken_at_its_word() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(2000) < 0.3).astype(float)
    texts = alone(truth.tolist(), [*truth[:100], *[NAN] * 1900])
    found, labels = (rate(texts).interval for rate in (corrected_rate, labels_only_rate))
    raw = raw_rate(texts)
    assert found.estimate == pytest.approx(truth.mean(), abs=0.001)
    assert raw.high - raw.low < found.high - found.low < (labels.high - labels.low) / 2


def test_probabilities_and_unread_texts_count() -> None:
    texts = simulated_texts(np.random.default_rng(3), Setting(0.3, 400, "simple"))
    vague = replace(texts, reading=0.2 + 0.6 * texts.reading)
    assert corrected_rate(vague).interval.estimate == pytest.approx(
        corrected_rate(texts).interval.estimate, abs=0.01
    )
    unread = replace(texts, reading=np.where(np.arange(len(texts)) % 2, texts.reading, NAN))
    half, whole = corrected_rate(unread).interval, corrected_rate(texts).interval
    assert half.estimate == pytest.approx(0.3, abs=0.08)
    assert half.high - half.low > whole.high - whole.low
    assert raw_rate(unread).n == 1000


def test_texts_of_one_pair_count_as_one() -> None:
    """Four copies of every text: the same limits, but for the number of pseudo-labels."""
    texts = simulated_texts(np.random.default_rng(4), Setting(0.3, 400, "simple"))
    four = JudgedTexts(*(np.tile(getattr(texts, name), 4) for name in JudgedTexts.__slots__))
    one, many = corrected_rate(texts).interval, corrected_rate(four).interval
    assert many.se == pytest.approx(one.se, rel=1e-9)
    assert many.high - many.low == pytest.approx(one.high - one.low, rel=0.05)


@pytest.mark.parametrize("setting", [Setting(0.05, 100, "simple")], ids=str)
def test_corrected_intervals_hold_the_truth(setting: Setting) -> None:
    """The hardest setting in short; soak/test_rubric_rates.py has them all, 2,000 data sets each."""
    found = simulate_rates(setting, 60)
    assert found.corrected_coverage >= 0.87  # of .94, three standard errors of 60 data sets below
    assert found.corrected_width < found.labels_width
    assert found.raw_coverage == 0
    assert found.raw_error == pytest.approx(expected_raw_error(setting.rate), abs=0.01)


def test_what_cannot_be_estimated_is_refused_or_unknown() -> None:
    with pytest.raises(InputError, match="none of 2 texts has one"):
        corrected_rate(alone([1, 0], [NAN, NAN]))
    assert np.isnan(sensitivity(alone([1, 0], [0, 0])).estimate)
