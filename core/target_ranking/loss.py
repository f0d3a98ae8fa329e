"""The loss of the transformer scorer, and the genes that each cell's targets are compared with.

0.7 · mean softplus(negative − positive) over the pairs of a cell, + 0.1 · mean binary cross-entropy of the sigmoid over its
positives and the same negatives, where a positive counts as many times as there are negatives to a positive, 50 at most; both
averaged over cells. Every function is given the module torch, which is imported only where a network is trained.
Source: docs/target_ranking.md, which has the published settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError

PAIR_WEIGHT: Final = 0.7
POINT_WEIGHT: Final = 0.1
MOST_POSITIVE_WEIGHT: Final = 50.0


@dataclass(frozen=True, slots=True)
class NegativeSettings:
    """How many negatives a cell has. share_hard: of them, rounded, are the top-scored of `candidates` random genes."""

    n: int = 64
    share_hard: float = 0.05
    candidates: int = 128


PUBLISHED_NEGATIVES: Final = NegativeSettings()


def sample_negatives(
    scores: NDArray[Any], positive: NDArray[np.bool_], rng: np.random.Generator, settings: NegativeSettings = PUBLISHED_NEGATIVES
) -> NDArray[np.bool_]:
    """Returns flags of each cell's negatives, of the shape (n_cells, n_genes) of `scores` and of `positive`, which flags targets.

    Hard ones are the best-scored of `candidates` random genes that are no targets; the others are drawn from the rest of the
    genes that are no targets. A cell with fewer such genes than wanted has all of them. Raises InputError for other shapes.
    """
    if scores.shape != positive.shape:
        raise InputError(f"scores of shape {scores.shape}, expected that of the targets, {positive.shape}")
    n_hard = round(settings.n * settings.share_hard)
    candidate = _draw(~positive, np.full(len(scores), settings.candidates), rng)
    hard = _highest(np.where(candidate, scores, -np.inf), candidate, n_hard)
    others = _draw(~positive & ~hard, settings.n - hard.sum(axis=1), rng)
    return np.asarray(hard | others)


def _draw(allowed: NDArray[np.bool_], wanted: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Returns flags of `wanted` (n_cells,) random genes of each cell among those allowed; of all, where there are fewer."""
    keys = np.where(allowed, rng.random(allowed.shape), np.inf)
    places = np.argsort(np.argsort(keys, axis=1), axis=1)
    return np.asarray(allowed & (places < wanted[:, None]))


def _highest(scores: NDArray[Any], allowed: NDArray[np.bool_], n: int) -> NDArray[np.bool_]:
    """Returns flags of the n highest scores of each cell among those allowed."""
    places = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)
    return np.asarray(allowed & (places < n))


def ranking_loss(torch: Any, scores: Any, positive: Any, negative: Any) -> Any:
    """Returns the loss of cells, a tensor without axes.

    scores: of shape (n_cells, n_genes). positive, negative: flags of the same shape; every cell needs one of each. Raises
    InputError if a cell has none.
    """
    n_positive, n_negative = positive.sum(dim=1), negative.sum(dim=1)
    if len(scores) == 0 or int(n_positive.min()) == 0 or int(n_negative.min()) == 0:
        raise InputError("ranking loss: a cell without targets or without other genes, expected at least one of each")
    softplus = torch.nn.functional.softplus
    # Of each cell the few targets, so that no (n_genes, n_genes) table of pairs is made.
    cell, target = positive.nonzero(as_tuple=True)
    differences = softplus(scores[cell] - scores[cell, target][:, None]) * negative[cell]
    of_target = differences.sum(dim=1) / (n_negative * n_positive)[cell]
    pair = of_target.sum() / len(scores)
    weight = (n_negative / n_positive).clamp(max=MOST_POSITIVE_WEIGHT)
    # −log σ(s) = softplus(−s) of a target, −log(1 − σ(s)) = softplus(s) of another gene
    entropy = positive * softplus(-scores) * weight[:, None] + negative * softplus(scores)
    point = (entropy.sum(dim=1) / (n_positive + n_negative)).mean()
    return PAIR_WEIGHT * pair + POINT_WEIGHT * point
