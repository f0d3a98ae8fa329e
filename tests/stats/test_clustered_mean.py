from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import sem

from core.stats.clustered_mean import means_within

RNG = np.random.default_rng(7)
VALUES, STRATUM = RNG.normal(size=300), RNG.integers(0, 3, 300)
PERT, GENE = RNG.integers(0, 20, 300), RNG.integers(0, 30, 300)


def test_independent_rows_have_scipys_standard_error() -> None:
    for k, found in enumerate(means_within(VALUES, STRATUM, PERT, GENE, (-9.0, 9.0))):
        inside = k == STRATUM
        assert found.value == pytest.approx(VALUES[inside].mean())
        assert found.row.se == pytest.approx(sem(VALUES[inside]))
        assert found.n == inside.sum()


def test_clusters_are_summed_first() -> None:
    found = means_within(VALUES, np.zeros(300, dtype=np.intp), PERT, GENE, (-9.0, 9.0))[0]
    residual = VALUES - VALUES.mean()
    sums = np.array([residual[one == PERT].sum() for one in range(20)])
    assert found.pert.se == pytest.approx(np.sqrt(20 / 19 * np.square(sums).sum()) / 300)
    assert found.two_way.se**2 == pytest.approx(
        found.pert.se**2 + found.gene.se**2 - found.row.se**2
    )


def test_copies_of_a_row_add_nothing_if_they_are_one_cluster() -> None:
    once = means_within(
        VALUES, np.zeros(300, dtype=np.intp), np.arange(300), np.arange(300), (-9.0, 9.0)
    )[0]
    values, pert = np.tile(VALUES, 3), np.tile(np.arange(300), 3)
    copies = means_within(values, np.zeros(900, dtype=np.intp), pert, np.arange(900), (-9.0, 9.0))[
        0
    ]
    assert (copies.shown.se, copies.shown.clusters) == (pytest.approx(once.row.se), 300)
    assert copies.row.se < once.row.se / 1.7
