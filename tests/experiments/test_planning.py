"""How large an experiment has to be, and where its variance comes from."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from core.experiments.planning import Size, detectable_on, find_needs
from core.experiments.variance_components import UnitVariances, VarianceComponents, variance_between
from core.stats.power import detectable_difference

# V_row 4, V_pert 6, V_gene 5 (all × 1e-6): perturbations 2, genes 1, rows 4, together the two-way variance 7
PARTS = VarianceComponents(2e-6, 1e-6, 4e-6, 3e-6, 0.0, 3, 1, UnitVariances(4e-6, 6e-6, 5e-6, 7e-6), 1000, 101, 201)


def test_shares_add_up_to_one() -> None:
    # the cut's 3e-6 / 3 cuts = 1e-6, so 8e-6 in all
    assert list(PARTS.shares.values()) == pytest.approx([0.25, 0.125, 0.5, 0.125, 0.0, math.nan], nan_ok=True)
    assert PARTS.noise == pytest.approx(1e-6)


def test_what_the_judge_changes_is_taken_out_of_the_seeds_or_the_rows() -> None:
    # seeds leave 4e-6 / 2 = 2e-6, the judge 5e-7 of them: 2, 1, 4, 1, 1.5 and .5 of 10
    known = replace(PARTS, seed=4e-6, n_seeds=2, judge=5e-7)
    assert list(known.shares.values()) == pytest.approx([0.2, 0.1, 0.4, 0.1, 0.15, 0.05])
    # one seed only: 1e-6 of the rows' 4e-6, of 8e-6 in all
    alone = list(replace(PARTS, seed=math.nan, judge=1e-6).shares.values())
    assert alone == pytest.approx([0.25, 0.125, 0.375, 0.125, math.nan, 0.125], nan_ok=True)


def test_as_many_rows_as_there_are_show_what_they_show() -> None:
    expected = detectable_difference(math.sqrt(8e-6), 0.8, 0.05, 100)
    assert detectable_on(PARTS, Size(1000, 101, 201), (3, 1), 0.8) == pytest.approx(expected)
    # four times of each unit, and cuts without end: half of the standard error of 7e-6
    many = detectable_on(PARTS, Size(4000, 404, 804), (10**9, 1), 0.8)
    assert many == pytest.approx(detectable_difference(math.sqrt(7e-6) / 2, 0.8, 0.05, 403), rel=1e-6)


def test_what_is_needed_shows_the_effect() -> None:
    rows, perts, genes, shown = find_needs(PARTS, 0.004, 0.8, 1e-6)
    # by rows alone: (0.004 / 2.8016)² - 1e-6 = 1.0386e-6 is allowed, 4e-6 is there
    assert rows.needed == math.ceil(1000 * 4e-6 / ((0.004 / detectable_difference(1.0)) ** 2 - 1e-6))
    assert perts.needed == math.ceil(101 * 6e-6 / ((0.004 / detectable_difference(1.0)) ** 2 - 1e-6))
    assert (genes.here, shown.here) == (201, 1000)
    assert shown.needed is not None
    factor = shown.needed / 1000
    size = Size(shown.needed, round(101 * factor), round(201 * factor))
    assert detectable_on(PARTS, size, (3, 1), 0.8) == pytest.approx(0.004, rel=0.01)
    assert [need.needed for need in find_needs(PARTS, 0.002, 0.8, 1e-6)] == [None] * 4  # cuts alone hide it


def test_variance_between_cuts() -> None:
    changes = np.array([[0.0, 0.2], [0.2, 0.4], [0.1, 0.3], [0.3, 0.5]])
    # by cut 0, 0, 1, 1: means DE .1 and .2, DIR .3 and .4, of both .2 and .3: variance .005
    assert variance_between(changes, [0, 0, 1, 1], "mean") == pytest.approx(0.005)
    assert math.isnan(variance_between(changes, [7, 7, 7, 7], "DE"))
