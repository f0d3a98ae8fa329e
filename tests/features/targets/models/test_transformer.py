"""The transformer scorer: its network, its loss and negatives, features of genes, bins, and a training that was killed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from core.base.errors import InputError
from core.features.cells.simulator import ScreenSettings
from core.features.targets.expression import ExpressionSet
from core.features.targets.models.base import FitSettings, fit_model
from core.features.targets.models.network import Network, NetworkShape, bin_expression
from core.features.targets.models.transformer import (
    N_COMPONENTS,
    make_gene_features,
    ranking_loss,
    sample_negatives,
)
from tests.features.targets import screens
from tests.features.targets.cases import profile

CELLS = screens.make_screen(ScreenSettings(150, 40, 6, share_failed_guides=0.0), 0)
OPTIONS = {"epochs": 3, "patience": 3, "tokens": 24, "width": 8, "layers": 1, "batch": 32}


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip(
        "torch", reason="torch is not installed: pip install -r requirements-models.txt"
    )


@pytest.mark.torch
def test_shifts_are_from_the_mean_of_each_cells_own_controls(torch: Any) -> None:
    torch.manual_seed(0)
    network = Network(torch, NetworkShape(8, 2, 16, 1), torch.randn(5, 3).numpy(), 5)
    network.module.eval()
    vectors = network.module["gene"](network.features)
    bins, controls = (
        np.random.default_rng(0).integers(51, size=(2, 5)),
        np.random.default_rng(1).integers(51, size=(4, 5)),
    )
    rows = np.array([[0, 1, 2], [3, 3, 0]])
    with torch.no_grad():
        found = network.score_cells(bins, controls, rows, np.arange(5))
        for at in range(2):  # one cell at a time, its controls one by one
            cell, gene = network.encode(torch.as_tensor(bins[at : at + 1]), vectors)
            own = [
                network.encode(torch.as_tensor(controls[row : row + 1]), vectors)
                for row in rows[at].tolist()
            ]
            mean_cell, mean_gene = (
                torch.stack([each[i] for each in own]).mean(dim=0) for i in (0, 1)
            )
            expected = network.score_shifts(vectors, cell - mean_cell, gene - mean_gene)
            np.testing.assert_allclose(found[at].numpy(), expected[0].numpy(), atol=1e-5)


@pytest.mark.torch
def test_weights_of_another_shape_are_refused(torch: Any) -> None:
    with pytest.raises(InputError, match="multiple of 4"):
        NetworkShape(width=30)
    network = Network(torch, NetworkShape(8, 2, 16, 1), np.zeros((5, 3), np.float32), 5)
    with pytest.raises(InputError, match="do not fit"):
        network.load_weights({"gene.weight": np.zeros((9, 3), np.float32)})


@pytest.mark.torch
def test_one_seed_trains_one_network(torch: Any) -> None:  # noqa: ARG001
    one, again = (fit_model("transformer", CELLS, CELLS, FitSettings(OPTIONS)) for _ in range(2))
    assert one.history.equals(again.history)
    control = profile(CELLS.x[CELLS.is_control].mean(axis=0), 20)
    assert (one.score(CELLS.x[:20], control) == again.score(CELLS.x[:20], control)).all()


def loss_by_loops(scores: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> float:
    """The definition of the specification, pair by pair."""
    total = 0.0
    for row, is_target, is_other in zip(scores, positive, negative, strict=True):
        targets, others = row[is_target], row[is_other]
        pair = np.mean(
            [math.log1p(math.exp(other - target)) for target in targets for other in others]
        )
        weight = min(50.0, len(others) / len(targets))
        entropy = [-weight * math.log(1 / (1 + math.exp(-s))) for s in targets]
        entropy += [-math.log(1 - 1 / (1 + math.exp(-s))) for s in others]
        total += 0.7 * pair + 0.1 * np.mean(entropy)
    return float(total / len(scores))


@pytest.mark.torch
def test_equal_scores_by_hand(torch: Any) -> None:
    scores = torch.zeros((1, 4), dtype=torch.float64)
    positive, negative = (
        torch.tensor([[True, False, False, False]]),
        torch.tensor([[False, True, True, False]]),
    )
    # softplus(0) = ln 2. One target counts as its 2 negatives: (2 ln 2 + ln 2 + ln 2) / 3 terms.
    expected = 0.7 * math.log(2) + 0.1 * 4 / 3 * math.log(2)
    assert float(ranking_loss(torch, scores, positive, negative)) == pytest.approx(
        expected, abs=1e-12
    )


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
        slope = (
            loss_by_loops(up, positive, negative) - loss_by_loops(down, positive, negative)
        ) / (2 * step)
        assert given.grad[place].item() == pytest.approx(slope, abs=1e-8)


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


def test_few_genes_are_all_negatives() -> None:
    rng = np.random.default_rng(3)
    positive = one_target(4, 10)
    assert (sample_negatives(np.zeros((4, 10)), positive, rng) == ~positive).all()


def test_features_are_standardised_and_equal_for_genes_that_vary_alike() -> None:
    rng = np.random.default_rng(0)
    x = rng.gamma(1, 1, (80, 40)).astype(np.float32)
    x[:, 1] = x[:, 0]
    x[:, 2] = 1  # never varies
    genes = tuple(f"G{i}" for i in range(40))
    features = make_gene_features(
        ExpressionSet(x, genes, np.array(["ctrl"] * 80), np.array(["x"] * 80)), seed=0
    )
    assert features.shape == (40, N_COMPONENTS + 2)
    assert np.isfinite(features).all()
    np.testing.assert_allclose(features[0], features[1], atol=1e-3)
    np.testing.assert_allclose(features[:, :-1].mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(features[:, :-1].std(axis=0), 1, atol=1e-5)
    # every gene is expressed in every cell, so the last column says nothing
    assert not features[:, -1].any()


def test_bins_by_rank_among_the_expressed_genes() -> None:
    x = np.array([[0, 1, 2, 3, 4], [0, 5, 5, 0, 5], [0, 0, 0, 0, 0]], dtype=np.float32)
    # Four expressed genes in four bins; three equal ones share the middle, (2 - 0.5) / 3 · 4 = 2 → bin 3; nothing expressed: 0
    assert bin_expression(x, n_bins=5).tolist() == [
        [0, 1, 2, 3, 4],
        [0, 3, 3, 0, 3],
        [0, 0, 0, 0, 0],
    ]
    deep = np.random.default_rng(0).gamma(1, 1, (20, 300)).astype(np.float32)
    bins = bin_expression(deep)
    assert (bins == bin_expression(2 * deep)).all()
    # Of 300 genes, 6 in each of 50 bins
    assert (np.bincount(bins[0], minlength=51)[1:] == 6).all()
