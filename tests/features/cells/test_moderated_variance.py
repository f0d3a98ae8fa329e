"""limma's moderated variances: against what was drawn, and by hand where all are equal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma

from core.features.cells.replicates import moderate_variances


@pytest.mark.parametrize(("degrees", "prior_degrees"), [(4.0, 6.0), (20.0, 10.0)])
def test_the_prior_is_found(degrees: float, prior_degrees: float) -> None:
    """Variances are drawn as limma has them: the true ones 0.04 · d0 / χ²(d0), the estimates these · χ²(d) / d."""
    rng = np.random.default_rng(0)
    true = 0.04 * prior_degrees / rng.chisquare(prior_degrees, 20_000)
    found, added = moderate_variances(true * rng.chisquare(degrees, len(true)) / degrees, degrees)
    assert added == pytest.approx(prior_degrees, rel=0.1)
    assert np.mean((np.log(found) - np.log(true)) ** 2) < np.mean(
        np.log(rng.chisquare(degrees, len(true)) / degrees) ** 2
    )


def test_equal_variances_have_all_of_the_prior() -> None:
    found, added = moderate_variances(np.array([2.0, 2.0, 2.0, np.nan]), 4.0)
    assert added == 1e6
    np.testing.assert_allclose(
        found, 2 * 2 / np.exp(digamma(2)), rtol=1e-4
    )  # the bias of logarithms of χ² is taken away


def test_two_variances_stay_as_they_are() -> None:
    found, added = moderate_variances(np.array([1.0, 3.0]), 4.0)
    assert (found.tolist(), added) == ([1.0, 3.0], 0.0)
