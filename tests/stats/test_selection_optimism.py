from __future__ import annotations

import numpy as np
import pytest

from core.errors import InputError
from core.stats.auroc import auroc
from core.stats.selection_optimism import tuning_optimism

FOLDS = np.repeat(["a", "b", "c"], [2, 2, 4])


def table(values: dict[str, list[float]]) -> object:
    """The value of a setting in each of the folds above."""
    names = ["a", "b", "c"]
    return lambda setting, rows: values[setting][names.index(FOLDS[rows][0])]


def test_by_hand() -> None:
    value = table({"half": [0.8, 0.4, 0.6], "all": [0.5, 0.7, 0.6]})
    # means weighted by 2, 2 and 4 rows: half (1.6 + 0.8 + 2.4) / 8 = 0.6, all (1.0 + 1.4 + 2.4) / 8 = 0.6; first wins.
    # without a: half 3.2, all 3.8, so all; without b: half 4.0, all 3.4, so half; without c: half 2.4, all 2.4, half
    # out of fold: (2 · 0.5 + 2 · 0.4 + 4 · 0.6) / 8 = 0.525
    found = tuning_optimism(value, ["half", "all"], FOLDS)  # type: ignore[arg-type]
    assert (found.tuned, found.out_of_fold, found.optimism) == pytest.approx((0.6, 0.525, 0.075))
    assert (found.best, found.chosen, found.skipped) == (0, (1, 0, 0), 0)


def test_a_setting_that_is_best_everywhere_has_no_optimism() -> None:
    found = tuning_optimism(table({"x": [0.5, 0.5, 0.5], "y": [0.6, 0.7, 0.8]}), ["x", "y"], FOLDS)  # type: ignore[arg-type]
    assert (found.optimism, found.best, found.chosen) == (0.0, 1, (1, 1, 1))


def test_folds_without_a_value_are_skipped_and_counted() -> None:
    found = tuning_optimism(table({"x": [0.5, np.nan, 0.5], "y": [0.6, 0.7, 0.4]}), ["x", "y"], FOLDS)  # type: ignore[arg-type]
    assert (found.skipped, len(found.chosen)) == (1, 2)
    # x: 0.5 in both; y: (2 · 0.6 + 4 · 0.4) / 6 = 0.467
    assert found.tuned == pytest.approx(0.5)
    nothing = tuning_optimism(lambda _setting, _rows: float("nan"), ["x"], FOLDS)
    assert np.isnan([nothing.tuned, nothing.out_of_fold, nothing.optimism]).all()
    assert (nothing.best, nothing.skipped) == (-1, 3)


def test_tuning_on_noise_is_optimistic() -> None:
    rng = np.random.default_rng(1)
    gaps = []
    for _ in range(30):
        positive, noise, folds = rng.random(400) < 0.4, rng.random((20, 400)), rng.integers(0, 5, 400)
        found = tuning_optimism(lambda k, rows, y=positive, x=noise: auroc(y[rows], x[k][rows]), range(20), folds)
        gaps.append((found.tuned - 0.5, found.out_of_fold - 0.5))
    tuned, out_of_fold = np.mean(gaps, axis=0)
    assert tuned > 0.03  # the best of twenty scores of pure noise
    assert abs(out_of_fold) < 0.015


def test_no_settings_are_refused() -> None:
    with pytest.raises(InputError, match="settings: got none"):
        tuning_optimism(lambda _setting, _rows: 0.5, [], FOLDS)
