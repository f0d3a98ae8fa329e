"""The ranking loss and its negatives, by hand and by brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from core.errors import InputError
from core.target_ranking.models.transformer_learner import NegativeSettings, ranking_loss, sample_negatives


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed: pip install -r requirements-models.txt")


def loss_by_loops(scores: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> float:
    """The definition of the specification, pair by pair."""
    total = 0.0
    for row, is_target, is_other in zip(scores, positive, negative, strict=True):
        targets, others = row[is_target], row[is_other]
        pair = np.mean([math.log1p(math.exp(other - target)) for target in targets for other in others])
        weight = min(50.0, len(others) / len(targets))
        entropy = [-weight * math.log(1 / (1 + math.exp(-s))) for s in targets]
        entropy += [-math.log(1 - 1 / (1 + math.exp(-s))) for s in others]
        total += 0.7 * pair + 0.1 * np.mean(entropy)
    return float(total / len(scores))


@pytest.mark.torch
def test_equal_scores_by_hand(torch: Any) -> None:
    scores = torch.zeros((1, 4), dtype=torch.float64)
    positive, negative = torch.tensor([[True, False, False, False]]), torch.tensor([[False, True, True, False]])
    # softplus(0) = ln 2. One target counts as its 2 negatives: (2 ln 2 + ln 2 + ln 2) / 3 terms.
    expected = 0.7 * math.log(2) + 0.1 * 4 / 3 * math.log(2)
    assert float(ranking_loss(torch, scores, positive, negative)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("n_genes", [9, 130])  # with 130 a lone target's weight is cut at 50
def test_loss_and_gradient_equal_loops_and_finite_differences(torch: Any, n_genes: int) -> None:
    rng = np.random.default_rng(n_genes)
    scores = rng.normal(0, 2, (3, n_genes))
    positive = np.zeros(scores.shape, dtype=bool)
    positive[0, 1] = positive[1, 0] = positive[1, 4] = positive[2, 2] = True
    negative = ~positive & (rng.random(scores.shape) < 0.9)
    given = torch.tensor(scores, requires_grad=True)
    loss = ranking_loss(torch, given, torch.tensor(positive), torch.tensor(negative))
    assert loss.item() == pytest.approx(loss_by_loops(scores, positive, negative), abs=1e-12)
    loss.backward()
    step = 1e-6
    for place in np.ndindex(scores.shape):
        up, down = scores.copy(), scores.copy()
        up[place] += step
        down[place] -= step
        slope = (loss_by_loops(up, positive, negative) - loss_by_loops(down, positive, negative)) / (2 * step)
        assert given.grad[place].item() == pytest.approx(slope, abs=1e-8)


@pytest.mark.torch
def test_a_cell_without_targets_or_negatives_is_refused(torch: Any) -> None:
    scores, none, some = torch.zeros((1, 2)), torch.zeros((1, 2), dtype=torch.bool), torch.tensor([[True, False]])
    for positive, negative in ((none, some), (some, none)):
        with pytest.raises(InputError, match="at least one of each"):
            ranking_loss(torch, scores, positive, negative)


def one_target(n_cells: int, n_genes: int, at: int = 0) -> np.ndarray:
    positive = np.zeros((n_cells, n_genes), dtype=bool)
    positive[:, at] = True
    return positive


def test_every_cell_has_64_negatives_that_are_no_targets() -> None:
    rng = np.random.default_rng(0)
    positive = rng.random((50, 300)) < 0.02
    negative = sample_negatives(rng.normal(size=positive.shape), positive, rng)
    assert negative.sum(axis=1).tolist() == [64] * 50
    assert not (negative & positive).any()


def test_three_of_64_are_the_top_scored_where_all_genes_are_candidates() -> None:
    rng = np.random.default_rng(1)
    scores, positive = rng.normal(size=(40, 128)), one_target(40, 128, at=5)
    negative = sample_negatives(scores, positive, rng)
    order = np.argsort(-np.where(positive, -np.inf, scores), axis=1)
    # 64 · 5% = 3.2, so 3: these are always there; the fourth is there as often as any other: 61 of the 124 that are left
    assert np.take_along_axis(negative, order[:, :3], axis=1).all()
    assert 0.2 < np.take_along_axis(negative, order[:, 3:4], axis=1).mean() < 0.8


@pytest.mark.soak
def test_the_top_scored_gene_is_as_often_among_the_negatives_as_it_is_a_candidate() -> None:
    rng = np.random.default_rng(2)
    n, n_genes = 3_000, 501
    scores = np.tile(np.arange(n_genes, 0, -1.0), (n, 1))
    negative = sample_negatives(scores, one_target(n, n_genes), rng)
    # A candidate with probability 128 / 500, and then hard; otherwise one of the 61 drawn from the 497 that are not hard.
    expected = 128 / 500 + (1 - 128 / 500) * 61 / 497
    error = math.sqrt(expected * (1 - expected) / n)
    assert negative[:, 1].mean() == pytest.approx(expected, abs=4 * error)
    # The lowest score is hard never: one of the 61 alone.
    low = 61 / 497
    assert negative[:, -1].mean() == pytest.approx(low, abs=4 * math.sqrt(low * (1 - low) / n))


def test_few_genes_are_all_negatives_and_settings_count() -> None:
    rng = np.random.default_rng(3)
    positive = one_target(4, 10)
    assert (sample_negatives(np.zeros((4, 10)), positive, rng) == ~positive).all()
    few = sample_negatives(np.zeros((4, 10)), positive, rng, NegativeSettings(n=4, share_hard=0.5, candidates=9))
    assert few.sum(axis=1).tolist() == [4] * 4
    with pytest.raises(InputError, match=r"\(4, 9\)"):
        sample_negatives(np.zeros((4, 9)), positive, rng)


def test_the_same_seed_draws_the_same() -> None:
    scores = np.random.default_rng(4).normal(size=(6, 200))
    first, second = (sample_negatives(scores, one_target(6, 200), np.random.default_rng(5)) for _ in range(2))
    assert (first == second).all()
