from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.stats.auroc import auroc
from core.stats.stratified_score import stratified_auroc
from tests.stats.oracles import scored_rows, wins


def by_pairs(positive: np.ndarray, values: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """Pairs won and pairs in each stratum, one stratum after the other."""
    tables = [wins(positive[strata == s], values[strata == s]) for s in np.unique(strata)]
    return np.array([(table.sum(), table.size) for table in tables])


@given(scored_rows(), st.integers(0, 2**32 - 1))
def test_counts_only_pairs_inside_a_stratum(rows: tuple[np.ndarray, list[np.ndarray]], seed: int) -> None:
    positive, (values,) = rows
    strata = np.random.default_rng(seed).integers(0, 4, len(values))
    strata[[0, 2]] = 0  # one stratum holds both classes
    won, pairs = by_pairs(positive, values, strata).T
    found = stratified_auroc(positive, values, strata)
    assert found.interval.estimate == pytest.approx(won.sum() / pairs.sum())
    assert (found.pairs, found.used) == (pairs.sum(), (pairs > 0).sum())
    assert found.used + len(found.one_class) == len(pairs)


def test_one_stratum_is_everything() -> None:
    positive, values = [1, 0, 1, 0], [4, 3, 2, 1]
    found = stratified_auroc(positive, values, ["all"] * 4)
    assert found.interval.estimate == auroc(positive, values)
    assert np.isnan(found.interval.se)  # a single unit says nothing of its own spread


def test_a_score_of_the_stratum_itself_has_exactly_a_half() -> None:
    rng = np.random.default_rng(1)
    strata, positive = rng.integers(0, 30, 300), rng.random(300) < 0.4
    assert stratified_auroc(positive, strata / 7, strata).interval.estimate == 0.5


def test_strata_of_one_class_are_named() -> None:
    found = stratified_auroc([1, 0, 1, 0, 0], [2, 1, 3, 3, 1], ["Myc", "Myc", "Atg7", "Cd9", "Cd9"])
    assert found.one_class == ("Atg7", "Cd9")
    assert (found.used, found.pairs, found.interval.estimate) == (1, 1, 1.0)
    assert found.interval.unit == "stratum"


def test_interval_is_that_of_a_ratio_over_strata() -> None:
    rng = np.random.default_rng(2)
    positive, values, strata = rng.random(400) < 0.4, rng.random(400), rng.integers(0, 40, 400)
    won, pairs = by_pairs(positive, values, strata).T
    used = pairs > 0
    residual = won[used] - won.sum() / pairs.sum() * pairs[used]
    variance = used.sum() * residual.var(ddof=1) / pairs.sum() ** 2  # of Σ won / Σ pairs, linearised
    assert stratified_auroc(positive, values, strata).interval.se ** 2 == pytest.approx(variance)


def test_without_both_classes_anywhere_it_is_undefined() -> None:
    found = stratified_auroc([True, True], [0.1, 0.2], ["a", "b"])
    assert np.isnan([found.interval.estimate, found.interval.se]).all()
    assert (found.pairs, found.used, found.one_class) == (0, 0, ("a", "b"))
