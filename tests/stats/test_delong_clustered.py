from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.errors import InputError
from core.stats.delong import two_way_delong, two_way_variance
from tests.stats.oracles import obuchowski_variance, scored_rows


@given(scored_rows(least=3), st.integers(0, 2**32 - 1))
def test_equals_the_form_that_looks_at_every_pair(
    rows: tuple[np.ndarray, list[np.ndarray]], seed: int
) -> None:
    positive, (values,) = rows
    clusters = np.random.default_rng(seed).integers(0, 6, len(values))
    clusters[:6] = [0, 1, 2, 0, 1, 2]  # both classes live in several clusters
    expected = obuchowski_variance(positive, values, clusters)
    assert two_way_delong(positive, values, clusters, clusters).pert.se ** 2 == pytest.approx(
        max(expected, 0), abs=1e-14
    )


@given(scored_rows())
def test_reduces_to_delong_where_every_row_is_a_cluster(
    rows: tuple[np.ndarray, list[np.ndarray]],
) -> None:
    positive, (values,) = rows
    clusters = np.arange(len(values))
    found = two_way_delong(positive, values, clusters, clusters)
    assert found.pert.se**2 == pytest.approx(found.row.se**2, abs=1e-14)


def test_by_hand() -> None:
    # Rows: A+ 3, A- 1, B+ 2, B- 2. Positive 3 beats both negatives (1), positive 2 beats 1 and ties 2 (3/4): AUROC 7/8.
    # Negative 1 loses to both (1), negative 2 loses to 3 and ties 2 (3/4). Centred sums are +1/8 in A and -1/8 in B for
    # both classes. I10 = I01 = I = 2, so S10 = S01 = 2/(1·2)·2/64 = 1/32 and S11 = 2/1·2/64 = 1/16;
    # variance 1/32/2 + 1/32/2 + 2·1/16/4 = 1/16
    clusters = ["A", "A", "B", "B"]
    interval = two_way_delong([1, 0, 1, 0], [3, 1, 2, 2], clusters, clusters).gene
    assert interval.estimate == 7 / 8
    assert interval.se == pytest.approx(1 / 4)
    assert (interval.unit, interval.method) == ("gene", "clustered DeLong")


def test_a_class_in_a_single_cluster_has_no_interval() -> None:
    interval = two_way_delong([1, 1, 0, 0], [4, 2, 3, 1], [0, 0, 1, 2], [0, 0, 1, 2]).pert
    assert interval.estimate == 0.75
    assert np.isnan(interval.se)


def test_copies_of_rows_do_not_make_a_clustered_interval_narrower() -> None:
    rng = np.random.default_rng(5)
    positive, values, cluster = rng.random(60) < 0.5, rng.normal(size=60), np.arange(60)
    once = two_way_delong(positive, values, cluster, cluster).row
    fourfold, values_of_all, clusters = (np.tile(a, 4) for a in (positive, values, cluster))
    more = two_way_delong(fourfold, values_of_all, clusters, clusters)
    assert more.pert.se == pytest.approx(once.se, rel=0.02)
    assert more.row.se == pytest.approx(once.se / 2, rel=0.02)


def test_two_way_is_pert_plus_gene_minus_row() -> None:
    rng = np.random.default_rng(6)
    positive, values = rng.random(200) < 0.5, np.round(rng.random(200), 1)
    pert, gene = rng.integers(0, 20, 200), rng.integers(0, 30, 200)
    found = two_way_delong(positive, values, pert, gene)
    parts = [
        obuchowski_variance(positive, values, pert),
        obuchowski_variance(positive, values, gene),
        -obuchowski_variance(positive, values, np.arange(200)),
    ]
    assert found.two_way.se**2 == pytest.approx(sum(parts), abs=1e-14)
    assert (found.value, found.n) == (found.row.estimate, 200)
    assert found.shown.se == max(found.row.se, found.pert.se, found.gene.se, found.two_way.se)
    assert (found.shown.clusters, found.shown.unit) == (20, "two-way")


def test_a_negative_two_way_variance_is_replaced_by_the_largest() -> None:
    row, pert, gene = np.array([4.0, 4.0]), np.array([1.0, 3.0]), np.array([2.0, 3.0])
    assert two_way_variance(row, pert, gene).tolist() == [4.0, 2.0]


def test_names_and_lengths_are_checked() -> None:
    with pytest.raises(InputError, match="pert has 3"):
        two_way_delong([1, 0], [0.1, 0.2], [1, 2, 3], [1, 2])
    with pytest.raises(InputError, match="gene: row 1: got None"):
        two_way_delong([1, 0], [0.1, 0.2], ["a", "b"], ["c", None])
