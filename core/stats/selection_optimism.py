"""How much a score gains from settings that were chosen on the rows it is measured on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from core.errors import InputError
from core.stats import validate
from core.stats.arrays import Bools, Floats

Setting = TypeVar("Setting")


@dataclass(frozen=True, slots=True)
class Optimism:
    """tuned: the value of the setting that is best over all folds; out_of_fold: of settings chosen on the other folds.

    Both are means over the same folds, weighted by rows, so that only the choice differs; optimism is tuned minus
    out_of_fold. best: the position of the best setting; chosen: of the setting chosen for each fold in use; skipped:
    number of folds for which the value of some setting is undefined (one class only). NaN with fewer than two folds left.
    """

    tuned: float
    out_of_fold: float
    optimism: float
    best: int
    chosen: tuple[int, ...]
    skipped: int


def tuning_optimism(value: Callable[[Setting, Bools], float], settings: Sequence[Setting], folds: ArrayLike) -> Optimism:
    """How much of the best setting's value is due to choosing it on the rows it is measured on.

    value(setting, rows): the score of a setting on the rows flagged True, higher is better, NaN if undefined. settings:
    for instance a grid of fusion weights; the first wins a tie. folds: each row's fold, a name or code.
    """
    codes = validate.codes("folds", folds)
    if not len(settings):
        raise InputError("settings: got none; expected at least one")
    in_fold = [codes == fold for fold in range(codes.max(initial=-1) + 1)]
    table = np.array([[value(setting, rows) for rows in in_fold] for setting in settings])
    sizes = np.array([rows.sum() for rows in in_fold], dtype=np.float64)
    return _optimism(table.reshape(len(settings), -1), sizes)


def _optimism(table: Floats, sizes: Floats) -> Optimism:
    defined = ~np.isnan(table).any(axis=0)
    skipped = int((~defined).sum())
    values, sizes = table[:, defined], sizes[defined]
    if values.shape[1] < 2:
        nan = float("nan")
        return Optimism(nan, nan, nan, -1, (), skipped)
    totals = values @ sizes
    others = totals[:, None] - values * sizes  # each fold's setting is chosen on the other folds
    chosen = others.argmax(axis=0)
    best = int(totals.argmax())
    tuned = float(totals[best] / sizes.sum())
    out_of_fold = float(values[chosen, np.arange(len(sizes))] @ sizes / sizes.sum())
    return Optimism(tuned, out_of_fold, tuned - out_of_fold, best, tuple(map(int, chosen)), skipped)
