"""Metrics of rankings against a loop over every gene, and intervals against statsmodels' formula by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from core.base.errors import InputError
from core.features.targets.metrics import (
    best_levels,
    clustered_interval,
    place_targets,
    score_rankings,
    spread_scores,
)
from tests.strength import examples

N_GENES, KS_FEW = 7, (1, 2, 4, 6, 10)


@st.composite
def rankings(draw: st.DrawFn) -> tuple[np.ndarray, list[tuple[int, ...]], np.ndarray]:
    """Scores with many ties, some of them -inf, the targets of each row, and which genes are ranked."""
    n = draw(st.integers(1, 6))
    values = st.sampled_from([-math.inf, -2.0, 0.0, 0.1 + 0.2, 0.3, 1.0])
    scores = draw(
        st.lists(st.lists(values, min_size=N_GENES, max_size=N_GENES), min_size=n, max_size=n)
    )
    genes = st.lists(st.integers(0, N_GENES - 1), min_size=1, max_size=3, unique=True)
    targets = draw(st.lists(genes, min_size=n, max_size=n))
    ranked = draw(
        st.lists(
            st.lists(st.booleans(), min_size=N_GENES, max_size=N_GENES), min_size=n, max_size=n
        )
    )
    return np.array(scores), [tuple(own) for own in targets], np.array(ranked)


def brute_metrics(
    scores: list[float], own: tuple[int, ...], ranked: list[bool]
) -> dict[tuple[str, int | None], float]:
    """The mean of every metric over all orders of the genes in which no higher score stands behind a lower one, one by one."""
    values = [round(score, 14) for score in scores]
    levels = [
        [g for g in range(len(values)) if ranked[g] and values[g] == level]
        for level in sorted(set(values), reverse=True)
    ]
    orders = [
        list(itertools.chain(*parts))
        for parts in itertools.product(*(itertools.permutations(each) for each in levels))
    ]
    found: dict[tuple[str, int | None], list[float]] = {}
    for order in orders:
        places = [order.index(target) + 1 if target in order else math.inf for target in own]
        found.setdefault(("mrr", None), []).append(1 / min(places))
        for k in KS_FEW:
            inside = [place <= k for place in places]
            for name, value in (
                ("relevant_hit", any(inside)),
                ("exact_hit", all(inside)),
                ("recall", np.mean(inside)),
            ):
                found.setdefault((name, k), []).append(float(value))
    return {name: float(np.mean(each)) for name, each in found.items()}


@pytest.mark.soak
@examples(60)
@given(rankings())
def test_metrics_are_the_mean_over_all_orders_of_ties(
    case: tuple[np.ndarray, list[tuple[int, ...]], np.ndarray],
) -> None:
    scores, targets, ranked = case
    for among in (None, ranked):
        shown = scores if among is None else np.where(among, scores, np.nan)
        found = score_rankings(place_targets(shown, targets), KS_FEW)
        for row, own in enumerate(targets):
            every = [True] * N_GENES if among is None else ranked[row].tolist()
            for name, value in brute_metrics(scores[row].tolist(), own, every).items():
                assert found[name][row] == pytest.approx(value, abs=1e-12), name


@pytest.mark.parametrize("n_genes", [40, 1_000, 5_045])
@pytest.mark.parametrize("n_targets", [1, 2, 3])
def test_a_constant_scores_what_chance_does(n_genes: int, n_targets: int) -> None:
    condition = "+".join(f"G{i}" for i in range(n_targets))
    random = best_levels([condition], frozenset(), None, n_genes)
    for value in (0.0, 3.5, -math.inf):
        found = score_rankings(
            place_targets(np.full((1, n_genes), value), [tuple(range(n_targets))])
        )
        for name, expected in random.items():
            assert abs(found[name][0] - expected[0]) < 1e-12, name
    assert random["recall", 40][0] == pytest.approx(40 / n_genes)
    assert random["relevant_hit", 1][0] == pytest.approx(n_targets / n_genes)


def test_an_interval_counts_cells_of_a_condition_as_one() -> None:
    # conditions A (1, 1), B (0, 0), C (1, 0): mean 1/2; deviations summed by condition 1, -1, 0, each over n = 6;
    # three conditions: V = (1 + 1 + 0) / 36 · 3/2 = 3 / 36, above that of the rows, 6/5 · 6 · 0.25 / 36 = 1.8 / 36
    values = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    found = clustered_interval(values, ["A", "A", "B", "B", "C", "C"])
    assert found.estimate == 0.5
    assert found.se == pytest.approx(math.sqrt(3 / 36))
    assert found.clusters == 3
    assert found.high == pytest.approx(min(1.0, 0.5 + found.se * t.ppf(0.975, 2)))
    wider = clustered_interval(
        np.repeat([1.0, 1.0, 0.0, 1.0, 0.0, 1.0], 50), np.repeat(list("ABCDEF"), 50).tolist()
    )
    naive = clustered_interval(
        np.repeat([1.0, 1.0, 0.0, 1.0, 0.0, 1.0], 50), [f"c{i}" for i in range(300)]
    )
    assert wider.high - wider.low > 5 * (naive.high - naive.low)


@pytest.mark.parametrize(
    ("values", "clusters"),
    [([1.0, 0.0], ["A", "A"]), ([1.0, 1.0], ["A", "B"]), ([0.4, 0.4], ["A", "B"])],
)
def test_no_interval_where_nothing_determines_one(values: list[float], clusters: list[str]) -> None:
    found = clustered_interval(np.array(values), clusters)
    assert found.estimate == pytest.approx(np.mean(values))
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_cannot_be_ranked_is_refused(wrong: float) -> None:
    with pytest.raises(InputError, match=f"gene 3: got {wrong}"):
        spread_scores(np.array([[1.0, wrong]]), np.array([2, 3]), (1, 4))
