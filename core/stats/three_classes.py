"""The three classes up, down and none at once: one-vs-rest AUROCs, log-loss, Brier score, and hits among validated rows.

A one-vs-rest AUROC of up (or down) asks for direction among all rows, not among those that turned out to have an effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError
from core.stats import validate
from core.stats.arrays import Bools, Floats
from core.stats.cell_auroc import influence_within_cells
from core.stats.clustered_mean import mean_over
from core.stats.delong import Estimate, estimates
from core.stats.ranks import round_for_ranks
from core.stats.scored_rows import ScoredRows
from core.stats.scores_and_labels import SUM_LIMIT, Outcome, Task
from core.stats.top_k import TopK, precision_of

CLASSES = ("up", "down", "none")
SMALLEST = float(np.finfo(np.float64).eps)  # a smaller probability counts as this much, as in scikit-learn's log_loss
_NO_LIMITS = (float("-inf"), float("inf"))


@dataclass(frozen=True, slots=True)
class ClassAurocs:
    """The AUROC of each class of `CLASSES` against the other two, by its own probability, and their mean (macro)."""

    up: Estimate
    down: Estimate
    none: Estimate
    macro: Estimate


@dataclass(frozen=True, slots=True)
class ClassLoss:
    """A loss of probabilities, a mean over rows; 0 is perfect.

    of_shares: the loss of giving every row the classes' shares in these rows. gain: of_shares less the loss, above 0 if the
    probabilities are better.
    """

    loss: Estimate
    of_shares: float
    gain: Estimate


def class_probabilities(prediction_up: ArrayLike, prediction_down: ArrayLike) -> Floats:
    """Return the probabilities of `CLASSES`, of shape (n_rows, 3). Raise InputError for numbers that are not probabilities."""
    up = validate.probabilities("prediction_up", prediction_up)
    down = validate.probabilities("prediction_down", prediction_down)
    validate.same_length(prediction_up=up, prediction_down=down)
    bad = up + down > SUM_LIMIT
    if bad.any():
        raise InputError(f"prediction_up + prediction_down: {validate.named_rows(bad)}: expected at most 1")
    return np.column_stack((up, down, np.clip(1 - up - down, 0.0, 1.0)))


def class_aurocs(rows: ScoredRows, probability: Floats) -> ClassAurocs:
    """Return One-vs-rest AUROCs over rows whose class is known; probability: as of `class_probabilities`, or their ranks.

    Only pairs inside the rows' cells count.
    """
    known, happened = classes_of(rows.outcome)
    tasks = [Task(known, happened[:, k], round_for_ranks(probability[:, k])) for k in range(len(CLASSES))]
    influence = influence_within_cells(tasks, rows.cells)
    weights = [*np.eye(len(CLASSES)), np.full(len(CLASSES), 1 / len(CLASSES))]
    return ClassAurocs(*(each[0] for each in estimates(influence, rows.pert, rows.gene, weights)))


def log_loss(rows: ScoredRows, probability: Floats) -> ClassLoss:
    """Return the mean of -log p of the class that happened, in nats; NaN without a row whose class is known."""
    known, happened = classes_of(rows.outcome)
    given = np.where(happened, probability, 0.0).sum(axis=1)
    share = happened[known].mean(axis=0) if known.any() else np.full(len(CLASSES), np.nan)
    of_shares = -float((share * np.log(np.where(share > 0, share, 1.0))).sum())
    return _loss(rows, known, -np.log(np.clip(given, SMALLEST, 1.0)), of_shares)


def brier_score(rows: ScoredRows, probability: Floats) -> ClassLoss:
    """Return the mean of Σ (p - happened)² over the three classes, in [0, 2]; NaN without a row whose class is known."""
    known, happened = classes_of(rows.outcome)
    share = happened[known].mean(axis=0) if known.any() else np.full(len(CLASSES), np.nan)
    return _loss(rows, known, ((probability - happened) ** 2).sum(axis=1), float(1 - (share**2).sum()))


def directed_hits(rows: ScoredRows, probability: Floats, ks: Sequence[int]) -> tuple[TopK, ...]:
    """Return the share of rows that changed in one direction, among the k rows with its highest probability."""
    known, happened = classes_of(rows.outcome)
    likelier = probability[:, :2].argmax(axis=1)
    right = happened[np.arange(len(likelier)), likelier]
    return precision_of(Task(known, right, round_for_ranks(probability[:, :2].max(axis=1))), rows, ks)


def classes_of(outcome: Outcome) -> tuple[Bools, Bools]:
    """Return which rows have a known class, of shape (n_rows,), and which class it is, of shape (n_rows, 3)."""
    known = outcome.labelled & (outcome.directed | ~outcome.effect)
    down = outcome.directed & ~outcome.up
    return known, np.column_stack((outcome.up, down, outcome.labelled & ~outcome.effect))


def _loss(rows: ScoredRows, known: Bools, of_rows: Floats, of_shares: float) -> ClassLoss:
    loss = mean_over(of_rows, known, rows.pert, rows.gene, (0.0, float("inf")))
    return ClassLoss(loss, of_shares, mean_over(of_shares - of_rows, known, rows.pert, rows.gene, _NO_LIMITS))
