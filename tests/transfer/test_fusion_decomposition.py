from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.stats.ranks import percentiles
from core.stats.scores_and_labels import Scores, scores_from_probabilities, submitted_parts
from core.transfer.fusion import Component, decompose_fusion, fuse, percentiles_of, weights_of


def published(
    seed: int, w_de: float, w_dir: float, n: int = 400
) -> tuple[Component, Component, Scores]:
    """A base, a component that misses some rows, and their fusion as a file of six decimals has it."""
    rng = np.random.default_rng(seed)
    base = Component(
        "base", np.round(rng.uniform(0.05, 0.95, n), 2), np.round(rng.uniform(0.05, 0.95, n), 2)
    )
    missing = rng.random(n) < 0.2
    other = Component("other", *np.where(missing, np.nan, rng.random((2, n))))
    fused = fuse(percentiles_of([base, other]), weights_of([w_de], [w_dir]))
    up, down = np.round(submitted_parts(fused.p_de, fused.p_up), 6)
    return base, other, scores_from_probabilities(up + down, up / (up + down))


@given(st.integers(0, 10**6), st.floats(0.4, 1.0), st.floats(0.4, 1.0))
def test_there_and_back(seed: int, w_de: float, w_dir: float) -> None:
    base, other, fused = published(seed, w_de, w_dir)
    found = decompose_fusion(scores_from_probabilities(base.p_de, base.p_up), fused, w_de, w_dir)
    np.testing.assert_allclose(found.p_de, percentiles(other.p_de), atol=1e-12)
    np.testing.assert_allclose(found.p_up, percentiles(other.p_up), atol=1e-12)
    again = fuse(
        percentiles_of([base, Component("found", found.p_de, found.p_up)]),
        weights_of([w_de], [w_dir]),
    )
    np.testing.assert_array_equal(
        np.round(again.p_de, 6), np.round(fuse_of(base, other, w_de, w_dir), 6)
    )
    assert max(found.farthest) < 0.25


def fuse_of(base: Component, other: Component, w_de: float, w_dir: float) -> np.ndarray:
    return fuse(percentiles_of([base, other]), weights_of([w_de], [w_dir])).p_de


def test_wrong_weights_are_noticed() -> None:
    base, _, fused = published(3, 0.5, 0.5)
    with pytest.raises(
        InputError, match=r"DE: a recovered percentile lies 0\.\d+ of a step from the grid"
    ):
        decompose_fusion(scores_from_probabilities(base.p_de, base.p_up), fused, 0.6, 0.5)


@pytest.mark.parametrize("weight", [0.0, 1.2, float("nan")])
def test_impossible_weights_are_refused(weight: float) -> None:
    base, _, fused = published(3, 0.5, 0.5)
    with pytest.raises(InputError, match="w_dir: got"):
        decompose_fusion(scores_from_probabilities(base.p_de, base.p_up), fused, 0.5, weight)
