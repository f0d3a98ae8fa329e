"""Small simulated screens for tests of ranking models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.features.cells.simulator import ScreenSettings, simulate_screen
from core.features.targets.expression import (
    ExpressionSet,
    normalise,
    parse_condition,
    take_perturbed,
)
from core.features.targets.metrics import mean_reciprocal_rank
from core.features.targets.models.base import FittedModel


def make_screen(settings: ScreenSettings, seed: int) -> ExpressionSet:
    """The cells of a simulated screen."""
    screen = simulate_screen(settings, seed)
    conditions = np.array([parse_condition(text) for text in screen.obs["condition"].astype(str)])
    batches = screen.obs["batch"].to_numpy(dtype=str)
    return ExpressionSet(normalise(screen.counts.toarray()), screen.genes, conditions, batches)


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Cells of trained conditions in three parts, and the cells of conditions that were never trained. All but `unseen` and
    `seen` hold control cells."""

    train: ExpressionSet
    validation: ExpressionSet
    seen: ExpressionSet
    unseen: ExpressionSet


def split_screen(cells: ExpressionSet, n_unseen: int, n_validated: int, seed: int = 0) -> Parts:
    """Random conditions are never trained, others validate; of the trained ones' cells a tenth validates, a tenth is `seen`."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(cells.perturbed)
    unseen, validated = order[:n_unseen], order[n_unseen : n_unseen + n_validated]
    trained = np.isin(cells.conditions, order[n_unseen + n_validated :])
    share = rng.random(len(cells.x))
    return Parts(
        cells.take(cells.is_control | (trained & (share < 0.8))),
        cells.take(
            cells.is_control
            | (trained & (share >= 0.8) & (share < 0.9))
            | np.isin(cells.conditions, validated)
        ),
        cells.take(trained & (share >= 0.9)),
        cells.take(np.isin(cells.conditions, unseen)),
    )


def mrr_of(model: FittedModel, cells: ExpressionSet, pool: ExpressionSet) -> float:
    """The mean reciprocal rank over the perturbed cells of a set."""
    own = take_perturbed(cells, pool, np.random.default_rng(7), "test")
    return mean_reciprocal_rank(model.score(own.x, own.controls), np.arange(len(cells.genes)), own)


def chance_mrr(n_genes: int) -> float:
    """What random scores reach with one target: the mean of 1 / rank over all ranks."""
    return float(np.mean(1 / np.arange(1, n_genes + 1)))
