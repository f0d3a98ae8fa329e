"""What is ranked (a run's two scores a row) and what it is held against (the labels)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError
from core.stats import validate
from core.stats.arrays import Bools, Floats
from core.stats.ranks import round_for_ranks
from core.types import Label

# Two parts of a sum of one, each rounded to six decimals, may add up to 1e-6 more than one.
SUM_LIMIT = 1 + 1.1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """A run's scores exactly as they will be ranked: made by `scores_from_submission` or `scores_from_probabilities`.

    p_de of shape (n_rows,): finite. p_up of shape (n_rows,): the probability of up given an effect, NaN where missing.
    """

    p_de: Floats
    p_up: Floats

    def __len__(self) -> int:
        return len(self.p_de)

    def take(self, rows: Bools) -> Scores:
        """The scores of the chosen rows."""
        return Scores(self.p_de[rows], self.p_up[rows])


def scores_from_submission(prediction_up: ArrayLike, prediction_down: ArrayLike, ids: Sequence[str] | None = None) -> Scores:
    """Scores of a submission as the official metric sees them: the file's numbers as they are, p_up 0 at (0, 0).

    Both of shape (n_rows,), probabilities whose sum does not exceed 1 (but for the rounding of a file of six decimals).
    InputError names the rows that are not, by `ids` where given.
    """
    up = validate.probabilities("prediction_up", prediction_up, ids=ids)
    down = validate.probabilities("prediction_down", prediction_down, ids=ids)
    validate.same_length(prediction_up=up, prediction_down=down)
    total = up + down
    bad = total > SUM_LIMIT
    if bad.any():
        rows = validate.named_rows(bad, ids)
        raise InputError(f"prediction_up + prediction_down: {rows}: got {total[bad][0]}; expected at most 1")
    return Scores(total, np.divide(up, total, out=np.zeros_like(up), where=total > 0))


def scores_from_probabilities(p_de: ArrayLike, p_up: ArrayLike) -> Scores:
    """Scores of anything the desk ranks, rounded to 9 decimals; p_up is NaN where a run says nothing on direction.

    Both of shape (n_rows,) and on any scale (a control's score need not be a probability).
    """
    de = validate.numbers("p_de", p_de)
    up = validate.numbers("p_up", p_up, missing=True)
    validate.same_length(p_de=de, p_up=up)
    return Scores(round_for_ranks(de), round_for_ranks(up))


def shared_rows(a: Scores, b: Scores) -> tuple[Scores, Scores]:
    """Both runs' scores with p_up missing where either misses it, so that they are ranked over the same rows."""
    missing = np.isnan(a.p_up) | np.isnan(b.p_up)
    return Scores(a.p_de, np.where(missing, np.nan, a.p_up)), Scores(b.p_de, np.where(missing, np.nan, b.p_up))


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What the labels say of each row, as flags of shape (n_rows,).

    labelled: the label is known; effect: it is up, down or de; up: it is up; directed: it is up or down.
    """

    labelled: Bools
    effect: Bools
    up: Bools
    directed: Bools

    def take(self, rows: Bools) -> Outcome:
        """The outcome of the chosen rows."""
        return Outcome(self.labelled[rows], self.effect[rows], self.up[rows], self.directed[rows])


def outcome_of(labels: ArrayLike) -> Outcome:
    """The outcome that labels (up, down, none, de; None, NaN or "" where unknown) of shape (n_rows,) stand for."""
    known = validate.labels(labels)
    up, down, none, de = (known == code for code in map(list(Label).index, (Label.UP, Label.DOWN, Label.NONE, Label.DE)))
    directed = up | down
    effect = directed | de
    return Outcome(effect | none, effect, up, directed)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One AUROC: which rows count, which of them are positive, and what they are ranked by; each of shape (n_rows,)."""

    rows: Bools
    positive: Bools
    values: Floats


def tasks(outcome: Outcome, scores: Scores) -> tuple[Task, Task]:
    """DE (an effect against none, by p_de) and DIR (up against down, by p_up, where there is one)."""
    directed = outcome.directed & ~np.isnan(scores.p_up)
    return Task(outcome.labelled, outcome.effect, scores.p_de), Task(directed, outcome.up, scores.p_up)
