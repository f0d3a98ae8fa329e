"""How much a score gains from a setting that was chosen on the rows it is measured on.

Perturbations and genes are each cut into k parts. A test cell holds the rows of one part of each;
its setting is chosen on the rows outside both, so that a row, and rows with its perturbation or
gene, cannot affect the choice. One cut is noisy: the gain is the mean over many cuts, shown with
its range.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.base.errors import InputError
from core.base.texts import number_text
from core.stats import validate
from core.stats.arrays import Bools, Codes, Floats, codes_or_one, count_codes, sum_by_group
from core.stats.auroc import ranking_steps
from core.stats.scores_and_labels import ScoredRows, Scores


@dataclass(frozen=True, slots=True)
class CutPlan:
    """The number of cuts of both axes, the number of parts, and the random seed."""

    cuts: int = 30
    k: int = 5
    seed: int = 0


DEFAULT_CUTS = CutPlan()


@dataclass(frozen=True, slots=True)
class Optimism:
    """The gain of the settings for DE and DIR, chosen apart, in the mean of both AUROCs; NaN if no
    cut has a value.

    tuned: the value of the settings that are best on all rows; out_of_fold: of the settings chosen
    for each test cell on the rows outside both of its parts; both over the pairs of rows inside
    test cells, means over the cuts. optimism: tuned minus out_of_fold; low, high: its range over
    the cuts, whose number is `cuts`.
    """

    tuned: float
    out_of_fold: float
    optimism: float
    low: float
    high: float
    cuts: int

    @property
    def sentence(self) -> str:
        """How optimistic the best settings are; "" where nothing can be chosen."""
        if np.isnan(self.optimism):
            return ""
        return (
            f"Weights chosen on other perturbations and genes score {number_text(self.optimism)}"
            f" less than the best here (mean of {self.cuts} cuts: {number_text(self.low)} to"
            f" {number_text(self.high)})."
        )


def selection_optimism(
    settings: Sequence[ScoredRows],
    plan: CutPlan = DEFAULT_CUTS,
    progress: Callable[[float], object] | None = None,
) -> Optimism:
    """Return how much of the best setting's value is due to choosing it on the rows it is measured
    on.

    settings: the same rows scored under each setting, for instance a grid of fusion weights; the
    first wins a tie. A row that lacks p_up under one of them counts for no DIR. With cells only
    pairs inside a cell of the rows count, both in choosing and in measuring. progress: is called
    after each cut, with the share that is done.
    """
    if not len(settings):
        raise InputError("settings: got none; expected at least one")
    validate.whole_number("cuts", plan.cuts, 1)
    validate.whole_number("k", plan.k, 2)
    # p_up is missing in all settings if it is missing in one.
    missing = np.any([np.isnan(each.scores.p_up) for each in settings], axis=0)
    settings, rows = (
        [
            replace(
                each, scores=Scores(each.scores.p_de, np.where(missing, np.nan, each.scores.p_up))
            )
            for each in settings
        ],
        settings[0],
    )
    rng = np.random.default_rng(plan.seed)
    values = np.full((2, 2, plan.cuts), np.nan)  # of DE and DIR: tuned and out of fold, on each cut
    both = [[_RankedTask.of(setting, k) for setting in settings] for k in range(2)]
    for cut in range(plan.cuts):
        part = cut_codes(rows.pert, plan.k, rng) * plan.k + cut_codes(rows.gene, plan.k, rng)
        for k, by_setting in enumerate(both):
            won = np.stack([task.wins(part, plan.k**2) for task in by_setting])
            values[k, :, cut] = _values_of_cut(won, by_setting[0].pairs(part, plan.k**2), plan.k)
        if progress is not None:
            progress((cut + 1) / plan.cuts)
    tuned, out_of_fold = values.mean(axis=0)
    defined = ~np.isnan(tuned)
    if not defined.any():
        nan = float("nan")
        return Optimism(nan, nan, nan, nan, nan, 0)
    gains = (tuned - out_of_fold)[defined]
    return Optimism(
        float(tuned[defined].mean()),
        float(out_of_fold[defined].mean()),
        float(gains.mean()),
        float(gains.min()),
        float(gains.max()),
        int(defined.sum()),
    )


def cut_codes(codes: Codes, k: int, rng: np.random.Generator) -> Codes:
    """Return the part, from 0 to k - 1, of each row: rows of one code share a part, and parts have
    equally many codes."""
    used, position = np.unique(codes, return_inverse=True)
    parts: Codes = rng.permutation(len(used)) % k
    return parts[position]


@dataclass(frozen=True, slots=True, eq=False)
class _RankedTask:
    """A task's rows in ascending order, cell after cell: their positions, which are positive, and
    their steps.

    step, tied: as in `weighted_auroc.ranking_steps`; cell: each row's cell.
    """

    order: Codes
    positive: Bools
    step: Codes
    tied: Codes
    cell: Codes

    @staticmethod
    def of(rows: ScoredRows, which: int) -> _RankedTask:
        task = rows.tasks()[which]
        chosen = np.flatnonzero(task.rows)
        cells = codes_or_one(rows.cells, len(task.rows))[chosen]
        sorting = np.lexsort((task.values[chosen], cells))
        order, cell = chosen[sorting], cells[sorting]
        place = np.cumsum(np.append(0, (np.diff(task.values[order]) != 0) | (np.diff(cell) != 0)))[
            : len(order)
        ]
        step, tied = ranking_steps(place.astype(np.float64), task.positive[order])
        return _RankedTask(order, task.positive[order], step, tied, cell)

    def wins(self, part: Codes, n_parts: int) -> Floats:
        """Return pairs won inside cells by each part's positives against each part's negatives, of
        shape (n_parts, n_parts)."""
        hits, misses = (
            self._count(rows, part, n_parts, self.step) for rows in (self.positive, ~self.positive)
        )
        ties = hits[:, self.tied] @ misses[:, self.tied].T
        in_order: Floats = hits @ np.cumsum(misses, axis=1).T - ties / 2
        return in_order - self._count_by_cell(part, n_parts, among_earlier=True)

    def pairs(self, part: Codes, n_parts: int) -> Floats:
        """Return pairs of each part's positives and each part's negatives inside cells, of shape
        (n_parts, n_parts)."""
        return self._count_by_cell(part, n_parts, among_earlier=False)

    def _count_by_cell(self, part: Codes, n_parts: int, *, among_earlier: bool) -> Floats:
        """Return pairs of positives with the negatives of their cell, or of earlier cells."""
        hits, misses = (
            self._count(rows, part, n_parts, self.cell) for rows in (self.positive, ~self.positive)
        )
        return np.asarray(
            hits @ (np.cumsum(misses, axis=1) - misses if among_earlier else misses).T
        )

    def _count(self, rows: Bools, part: Codes, n_parts: int, group: Codes) -> Floats:
        """Return the number of `rows` of each part in each group, of shape (n_parts, n_groups)."""
        n_groups = count_codes(group)
        return sum_by_group(
            part[self.order[rows]] * n_groups + group[rows], n_parts * n_groups
        ).reshape(n_parts, n_groups)


def _values_of_cut(won: Floats, pairs: Floats, k: int) -> tuple[float, float]:
    """Return the tuned and the out-of-fold AUROC of one task on one cut.

    won: pairs won, of shape (n_settings, k², k²), by the positives of each test cell against the
    negatives of each; pairs: all of them, of shape (k², k²).
    """
    inside = np.einsum("saa->sa", won)  # in each test cell
    total = np.trace(pairs)
    if not total:
        return float("nan"), float("nan")
    best = int(won.sum(axis=(1, 2)).argmax())
    # Pairs won among the rows outside both parts of each test cell, of shape (n_settings, k²)
    apart = 1 - np.eye(k)
    outside_cells = np.kron(apart, apart)  # which cells share neither part with a cell
    outside = np.asarray(
        np.einsum("ca,sab,cb->sc", outside_cells, won, outside_cells, optimize=True)
    )
    chosen = outside.argmax(axis=0)
    out_of_fold = inside[chosen, np.arange(k * k)].sum()
    return float(inside[best].sum() / total), float(out_of_fold / total)
