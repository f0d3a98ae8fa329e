"""The mean score over a grid of fusion weights, its plateau, and the optimism of the best value.

DE depends only on the weight of DE and DIR only on that of DIR, so two curves give the whole grid.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from core.base.errors import InputError
from core.base.result import Figure, Table, hidden, inline
from core.scoring.compare_runs import change_sentence
from core.scoring.sentences import scored_text
from core.stats.arrays import Bools, Floats
from core.stats.cell_auroc import influence_within_cells
from core.stats.delong import estimates
from core.stats.official_score import MEAN
from core.stats.ranks import round_for_ranks
from core.stats.scores_and_labels import ScoredRows, Scores, tasks
from core.stats.selection_optimism import DEFAULT_CUTS, CutPlan, Optimism, selection_optimism
from core.transfer.fusion import FusionComparison, LiveFusion, fuse, shares_of, weights_of

GRID = tuple(np.round(np.linspace(0, 1, 21), 2).tolist())  # steps of 0.05


@dataclass(frozen=True, slots=True, eq=False)
class GridWeights:
    """The weights of all components except the base on the grid, for DE and for DIR, each of shape
    (n_weights, n_others)."""

    de: Floats
    dir: Floats


@dataclass(frozen=True, slots=True, eq=False)
class WeightGrid:
    """The scores at the weights `GRID` of one component.

    de, dir: of shape (n_weights,). mean: of shape (n_weights, n_weights), weight of DE by weight of
    DIR. best: the position of its largest value; se: the standard error shown for that value;
    plateau: flags of the means within one standard error of it.
    """

    de: Floats
    dir: Floats
    mean: Floats
    best: tuple[int, int]
    se: float
    plateau: Bools


def move_one(position: int, w_de: ArrayLike, w_dir: ArrayLike) -> GridWeights:
    """Return the weights if one component takes each weight of the grid and the others keep theirs,
    as with sliders.

    position: of the changing component among all components except the base. w_de, w_dir: of shape
    (n_others,). Weights that would sum to more than 1 are scaled to 1.
    """
    both = np.asarray([w_de, w_dir], dtype=np.float64)
    moved = np.repeat(both[:, None], len(GRID), axis=1)
    moved[:, :, position] = GRID
    return GridWeights(*shares_of(moved))


def weight_grid(live: LiveFusion, weights: GridWeights) -> WeightGrid:
    """Return the grid of a fusion. weights: of all components except the base at each point of the
    grid (see `move_one`).

    Raise InputError unless DE and DIR each have two classes.
    """
    scores = _scores(live, weights)
    # Rounded, so that the first of equally good weights is the best, whatever the rounding of their
    # sums.
    de, direction = round_for_ranks(
        [
            influence_within_cells(tasks(live.outcome, some), live.cells).values[:, 0]
            for some in scores
        ]
    ).T
    if np.isnan([de, direction]).any():
        raise InputError(
            "labels: not both classes of DE and of DIR; expected labelled rows of all of them"
        )
    mean = round_for_ranks((de[:, None] + direction) / 2)
    i, j = int(de.argmax()), int(direction.argmax())
    best = influence_within_cells(
        tasks(live.outcome, Scores(scores[i].p_de, scores[j].p_up)), live.cells
    )
    se = estimates(best, live.rows.pert, live.rows.gene, [MEAN])[0][0].shown.se
    return WeightGrid(de, direction, mean, (i, j), se, mean >= mean[i, j] - se)


def weight_optimism(
    live: LiveFusion,
    weights: GridWeights,
    plan: CutPlan = DEFAULT_CUTS,
    progress: Callable[[float], object] | None = None,
) -> Optimism:
    """Return the optimism from choosing both weights on the rows that score them; other arguments
    as for `weight_grid`.

    progress: as for `selection_optimism`.
    """
    rows = live.rows
    scored = [
        ScoredRows(live.outcome, scores, rows.pert, rows.gene, live.cells)
        for scores in _scores(live, weights)
    ]
    return selection_optimism(scored, plan, progress)


def _scores(live: LiveFusion, weights: GridWeights) -> list[Scores]:
    return [
        fuse(live.percentiles, weights_of(de, up)).scores()
        for de, up in zip(weights.de, weights.dir, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class FusionVerdict:
    """A fusion of rows. run: its name. uncovered: rows that a component does not cover. constant:
    sentences on components that change no order. comparison: with the baseline, None for a fusion
    that was only saved. remarks: further caveats.
    """

    run: str
    rows: int
    uncovered: int
    id: str = ""
    constant: tuple[str, ...] = ()
    baseline: str = ""
    scored: str = ""
    comparison: FusionComparison | None = inline(default=None)
    remarks: tuple[str, ...] = hidden(default=())

    @property
    def title(self) -> str:
        """The fusion."""
        return f"What {self.run} gains"

    @property
    def sentence(self) -> str:
        """Whether it is better than its baseline; without labels, how many rows it has."""
        if self.comparison is None or not self.comparison.n_labelled:
            return f"{self.run}: {self.rows:,} rows, {self.uncovered:,} without a component."
        return change_sentence(
            self.comparison.mean.change.shown, "mean of DE and DIR", self.baseline, self.run
        )

    @property
    def scope(self) -> str:
        """Which rows count, and how they are scored."""
        return " · ".join(
            filter(None, (f"{self.rows:,} rows", scored_text(self.scored) if self.scored else ""))
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before trusting it."""
        return (*self.remarks, *self.constant)

    def tables(self) -> tuple[Table, ...]:
        """Return the scores of the baseline and of the fusion, or how many rows are covered."""
        if self.comparison is None or not self.comparison.n_labelled:
            return (Table("Rows", ({"rows": self.rows, "without a component": self.uncovered},)),)
        rows = [
            {
                "metric": name,
                self.baseline or "before": part.before,
                self.run: part.after,
                "change": part.change,
            }
            for name, part in self.comparison.parts.items()
        ]
        return (Table("Scores", tuple(rows), ("change",)),)

    def figure(self) -> Figure | None:
        """Return None: the explorer draws it."""
        return None
