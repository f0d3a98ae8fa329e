"""Structural ceilings: by hand, against the best ranking there is, and of the published hard split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.features.targets.expression import targets_in
from core.features.targets.metrics import (
    KS,
    best_levels,
    ceilings_of,
    place_targets,
    score_rankings,
)
from core.features.targets.splits import Split, read_split

# trained: A, B, C; test: a seen double, a half-seen one, an unseen single, a triple with two trained genes
SPLIT = Split(("A", "B+C"), ("C",), ("A+B", "A+D", "E", "B+C+F"), "hard", seed=0)
GENES = tuple("ABCDEFGHIJ") + tuple(f"H{i}" for i in range(90))


def test_ceilings_by_hand() -> None:
    # relevant: 3 of 4. recall at 1: 1/2 + 1/2 + 0 + 1/3; at 2: 1 + 1/2 + 0 + 2/3. exact: none at 1, A+B from 2 on
    assert ceilings_of(SPLIT) == {
        "relevant": {"1": "3/4"},
        "recall": {"1": "1.333/4", "2": "2.167/4"},
        "exact": {"1": "0/4", "2": "1/4"},
    }
    found = best_levels(SPLIT.test, SPLIT.trained_genes, None, None)
    assert found["recall", 1].sum() == pytest.approx(4 / 3)
    assert found["relevant_hit", 40].tolist() == found["mrr", None].tolist() == [1, 1, 0, 1]
    assert found["exact_hit", 5].tolist() == [1, 0, 0, 0]


@pytest.mark.soak
@given(st.integers(0, 10_000))
def test_no_model_of_trained_genes_exceeds_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    targets = [tuple(GENES.index(gene) for gene in targets_in(name)) for name in SPLIT.test]
    scores = np.full((len(targets), len(GENES)), -np.inf)
    trained = [GENES.index(gene) for gene in sorted(SPLIT.trained_genes)]
    best = scores.copy()
    for row, own in enumerate(targets):
        scores[row, trained] = rng.integers(0, 3, len(trained))
        best[row, trained] = np.where(np.isin(trained, own), 2.0 + rng.random(len(trained)), 1.0)
    ceilings = best_levels(SPLIT.test, SPLIT.trained_genes, None, len(GENES))
    for values, reaches in ((scores, False), (best, True)):
        for (metric, k), rows in score_rankings(place_targets(values, targets)).items():
            assert rows.mean() <= ceilings[metric, k].mean() + 1e-12
            if reaches and metric != "mrr":
                assert rows.mean() == pytest.approx(ceilings[metric, k].mean())


def test_candidates_lower_ceilings_and_a_small_pool_adds_what_chance_gives_where_ties_reach_k() -> (
    None
):
    pools = {name: frozenset("ADE") | {f"H{i}" for i in range(57)} for name in SPLIT.test}
    steps = ceilings_of(SPLIT, pools)
    found = best_levels(SPLIT.test, SPLIT.trained_genes, pools, None)
    assert (
        steps["relevant"]["1"] == "2/4"
    )  # A+B and A+D by A; the triple's trained genes are no candidates
    assert steps["recall"]["1"] == "1/4"
    assert steps["relevant"]["5"] == "2.068/4"  # and E by chance, 4/59
    # at 40: A first, then 59 genes without a score on the places 2 to 60, so that each is in the top 40 with probability 39/59:
    # A+B has A alone; A+D has (1 + 39/59) / 2; E has 39/59; the triple has no candidate
    assert found["recall", 40].mean() == pytest.approx((1 / 2 + (1 + 39 / 59) / 2 + 39 / 59) / 4)
    assert found["exact_hit", 40].mean() == pytest.approx((39 / 59 + 39 / 59) / 4)


def test_the_published_hard_split(shared_data: Path) -> None:
    path = shared_data / "norman" / "split_hard_seed42.json"
    if not path.is_file():
        pytest.skip(f"needs the published split {path}")
    split = read_split(path)
    # where the published xgboost stands at k = 40
    found = best_levels(split.test, split.trained_genes, None, None)
    at_40 = [
        round(found[metric, KS[-1]].mean(), 4) for metric in ("relevant_hit", "recall", "exact_hit")
    ]
    assert at_40 == [0.5526, 0.3684, 0.1842]
