"""Metrics of rankings against a loop over every gene, and intervals against statsmodels' formula by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata, t

from core.errors import InputError
from core.target_ranking.metrics import KS, clustered_interval, rank_targets, score_rankings
from tests.strength import examples

N_GENES = 12


@st.composite
def rankings(draw: st.DrawFn) -> tuple[np.ndarray, list[tuple[int, ...]], np.ndarray]:
    """Scores with many ties, some of them -inf, the targets of each row, and which genes are ranked."""
    n = draw(st.integers(1, 6))
    values = st.sampled_from([-math.inf, -2.0, 0.0, 0.1 + 0.2, 0.3, 1.0])
    scores = draw(st.lists(st.lists(values, min_size=N_GENES, max_size=N_GENES), min_size=n, max_size=n))
    genes = st.lists(st.integers(0, N_GENES - 1), min_size=1, max_size=3, unique=True)
    targets = draw(st.lists(genes, min_size=n, max_size=n))
    ranked = draw(st.lists(st.lists(st.booleans(), min_size=N_GENES, max_size=N_GENES), min_size=n, max_size=n))
    return np.array(scores), [tuple(own) for own in targets], np.array(ranked)


def brute_rank(scores: list[float], target: int, ranked: list[bool]) -> float:
    """The mean place of a gene over every order that its equals could stand in, counted one by one."""
    if not ranked[target]:
        return math.inf
    above = sum(1 for gene, score in enumerate(scores) if ranked[gene] and round(score, 14) > round(scores[target], 14))
    equal = sum(1 for gene, score in enumerate(scores) if ranked[gene] and round(score, 14) == round(scores[target], 14))
    return above + sum(range(1, equal + 1)) / equal


@examples(150)
@given(rankings())
def test_metrics_are_those_of_a_loop_over_genes(case: tuple[np.ndarray, list[tuple[int, ...]], np.ndarray]) -> None:
    scores, targets, ranked = case
    for among in (None, ranked):
        ranks = rank_targets(scores, targets, among)
        found = score_rankings(ranks, [f"c{row}" for row in range(len(targets))])
        for row, own in enumerate(targets):
            every = [True] * N_GENES if among is None else ranked[row].tolist()
            brute = [brute_rank(scores[row].tolist(), target, every) for target in own]
            assert ranks[row].tolist() == brute
            assert found.rows["mrr", None][row] == max(1 / rank for rank in brute)
            for k in KS:
                inside = [rank <= k for rank in brute]
                assert found.rows["relevant_hit", k][row] == any(inside)
                assert found.rows["exact_hit", k][row] == all(inside)
                assert found.rows["recall", k][row] == sum(inside) / len(inside)


def test_ranks_are_those_of_scipy() -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 6, (5, 40)).astype(float)
    expected = [rankdata(-row)[[3, 7]] for row in scores]
    assert np.array_equal(rank_targets(scores, [(3, 7)] * 5), expected)


def test_the_order_of_columns_decides_nothing() -> None:
    # three genes tie for the places 1, 2, 3: each has rank 2, is not in the top 1 and is in the top 5
    for target, order in itertools.product(range(3), itertools.permutations(range(4))):
        scores = np.array([1.0, 1.0, 1.0, 0.0])[list(order)]
        place = order.index(target)
        found = score_rankings(rank_targets(scores[None], [(place,)]), ["A"])
        assert (found.mean("recall", 1), found.mean("recall", 5), found.mean("mrr")) == (0.0, 1.0, 0.5)


def test_an_interval_counts_cells_of_a_condition_as_one() -> None:
    # conditions A (1, 1), B (0, 0), C (1, 0): mean 1/2; deviations summed by condition 1, -1, 0, each over n = 6;
    # three conditions: V = (1 + 1 + 0) / 36 · 3/2 = 3 / 36, above that of the rows, 6/5 · 6 · 0.25 / 36 = 1.8 / 36
    values = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    found = clustered_interval(values, ["A", "A", "B", "B", "C", "C"])
    assert found.estimate == 0.5
    assert found.se == pytest.approx(math.sqrt(3 / 36))
    assert found.clusters == 3
    assert found.high == pytest.approx(min(1.0, 0.5 + found.se * t.ppf(0.975, 2)))
    wider = clustered_interval(np.repeat([1.0, 1.0, 0.0, 1.0, 0.0, 1.0], 50), np.repeat(list("ABCDEF"), 50).tolist())
    naive = clustered_interval(np.repeat([1.0, 1.0, 0.0, 1.0, 0.0, 1.0], 50), [f"c{i}" for i in range(300)])
    assert wider.high - wider.low > 5 * (naive.high - naive.low)


@pytest.mark.parametrize(("values", "clusters"), [([1.0, 0.0], ["A", "A"]), ([1.0, 1.0], ["A", "B"]), ([0.4, 0.4], ["A", "B"])])
def test_no_interval_where_nothing_determines_one(values: list[float], clusters: list[str]) -> None:
    found = clustered_interval(np.array(values), clusters)
    assert found.estimate == pytest.approx(np.mean(values))
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize(
    ("scores", "targets", "message"),
    [
        ([[1.0, math.nan]], [(0,)], "gene 1: got nan"),
        ([[1.0, math.inf]], [(0,)], "gene 1: got inf"),
        ([[1.0, 0.0]], [()], "targets of row 0"),
        ([[1.0, 0.0]], [(0, 0)], "targets of row 0"),
        ([[1.0, 0.0]], [(2,)], "positions from 0 to 1"),
        ([[1.0, 0.0]], [(0,), (1,)], "2 rows of targets"),
    ],
)
def test_what_cannot_be_ranked_is_refused(scores: list[list[float]], targets: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        rank_targets(np.array(scores), targets)


def test_rankings_need_rows_and_every_k_is_positive() -> None:
    with pytest.raises(InputError, match="no rows"):
        score_rankings([], [])
    with pytest.raises(InputError, match="k: got 0"):
        score_rankings([np.array([1.0])], ["A"], ks=(0,))
