"""Do the intervals of corrected rates hold the truth, and are they narrower than those of the labels alone?

2,000 runs of each setting: a judge of sensitivity .8 and specificity .9, whose errors share perturbations and genes.
"""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from core.features.arguments.rates import FEWEST_LABELS
from soak.conftest import Record
from tests.stats.judged_texts import SETTINGS, Setting, expected_raw_error, simulate_rates

RUNS = 2000
FEW = [
    replace(setting, perts=60, genes=80) for setting in SETTINGS if setting.labels == 100
]  # clusters of 25 to 33 texts


@pytest.mark.parametrize("setting", [*SETTINGS, *FEW], ids=str)
def test_corrected_rates_hold_the_truth_and_are_narrower(setting: Setting, record: Record) -> None:
    found = simulate_rates(setting, RUNS)
    record(runs=RUNS, **{name: f"{value:.4f}" for name, value in asdict(found).items()})
    assert found.corrected_coverage >= 0.93
    assert found.corrected_width < found.labels_width
    assert abs(found.corrected_error) < 0.005
    assert found.raw_error == pytest.approx(expected_raw_error(setting.rate), abs=0.005)


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.6])
def test_the_fewest_labels_with_a_corrected_rate_are_enough(rate: float, record: Record) -> None:
    """Of a rare answer two or three labels in 50."""
    found = simulate_rates(Setting(rate, FEWEST_LABELS, "simple"), RUNS)
    record(runs=RUNS, **{name: f"{value:.4f}" for name, value in asdict(found).items()})
    assert found.corrected_coverage >= 0.93
    assert found.corrected_width < found.labels_width
