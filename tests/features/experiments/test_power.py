"""What the rows of an experiment can show."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from core.features.experiments.power import Size, VarianceComponents, count_rows, detectable_on, variance_between
from core.stats.power import detectable_difference

# V_row 4, V_pert 6, V_gene 5 (all × 1e-6): perturbations 2, genes 1, rows 4, together the two-way variance 7; the cut 3
PARTS = VarianceComponents(2e-6, 1e-6, 4e-6, 7e-6, 3e-6, 0.0, Size(1000, 101, 201))


def test_noise_is_that_of_as_many_cuts_and_seeds() -> None:
    assert PARTS.noise(3, 1) == pytest.approx(1e-6)
    assert replace(PARTS, seed=4e-6).noise(3, 2) == pytest.approx(3e-6)
    assert replace(PARTS, seed=math.nan).noise(3, 2) == pytest.approx(1e-6)


def test_as_many_rows_as_there_are_show_what_they_show() -> None:
    expected = detectable_difference(math.sqrt(8e-6), 0.8, 0.05, 100)
    assert detectable_on(PARTS, Size(1000, 101, 201), 1e-6) == pytest.approx(expected)
    # four times of each unit, and cuts without end: half of the standard error of 7e-6
    many = detectable_on(PARTS, Size(4000, 404, 804), 0.0)
    assert many == pytest.approx(detectable_difference(math.sqrt(7e-6) / 2, 0.8, 0.05, 403), rel=1e-6)


def test_what_is_needed_shows_the_effect() -> None:
    needed = count_rows(PARTS, 0.004, 1e-6)
    assert needed is not None
    size = Size(needed, round(101 * needed / 1000), round(201 * needed / 1000))
    assert detectable_on(PARTS, size, 1e-6) == pytest.approx(0.004, rel=0.01)
    assert count_rows(PARTS, 0.002, 1e-6) is None  # cuts alone hide it


def test_variance_between_cuts() -> None:
    changes = np.array([[0.0, 0.2], [0.2, 0.4], [0.1, 0.3], [0.3, 0.5]])
    # by cut 0, 0, 1, 1: means DE .1 and .2, DIR .3 and .4, of both .2 and .3: variance .005
    assert variance_between(changes, [0, 0, 1, 1], "mean") == pytest.approx(0.005)
    assert math.isnan(variance_between(changes, [7, 7, 7, 7], "de"))
