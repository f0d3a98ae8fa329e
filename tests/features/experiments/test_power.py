"""What the rows of an experiment can show."""

from __future__ import annotations

import math

import pytest

from core.features.experiments.power import count_rows
from core.stats.power import detectable_difference


def test_what_is_needed_shows_the_effect() -> None:
    """The variance of rows is 7e-6 on 1,000 rows with 101 clusters, and that of cuts and seeds 1e-6."""
    needed = count_rows(7e-6, 1000, 101, 0.004, 1e-6)
    assert needed is not None
    se = math.sqrt(7e-6 * 1000 / needed + 1e-6)
    assert detectable_difference(se, 0.8, 0.05, 101 * needed / 1000 - 1) == pytest.approx(
        0.004, rel=0.01
    )
    assert count_rows(7e-6, 1000, 101, 0.002, 1e-6) is None  # cuts alone hide it
