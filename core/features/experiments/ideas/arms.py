"""Ways to rank the same rows, scored alike in the same cells, each compared with the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.features.experiments.result import ArmResult
from core.stats.arrays import Codes, Floats
from core.stats.cell_auroc import influence_within_cells
from core.stats.delong import Estimate, estimates, widen
from core.stats.influence import Influence, mean_influence
from core.stats.scores_and_labels import Scores, outcome_of, tasks
from core.transfer.row_index import Rows

Metrics = tuple[Estimate | None, Estimate | None, Estimate | None]  # DE, DIR and their mean
_OF_SCORES = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])  # the metrics of an arm from its scores
_NONE: Metrics = (None, None, None)


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The rows that arms rank. labels: of shape (n_rows,); cells: of each cut, None for all pairs;
    scored: in words."""

    labels: NDArray[np.object_]
    rows: Rows
    cells: tuple[Codes | None, ...]
    scored: str


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """An arm: its scores under each cut, NaN for rows that it does not rank. run: the id of the run
    that it is."""

    name: str
    scores: tuple[Scores, ...]
    note: str = ""
    run: str = ""


def mask_scores(scores: Scores, rows: NDArray[np.bool_]) -> Scores:
    """Return scores with NaN outside the chosen rows, so that only these count."""
    return Scores(np.where(rows, scores.p_de, np.nan), np.where(rows, scores.p_up, np.nan))


def score_arms(trial: Trial, arms: Sequence[Ranking], *, has_base: bool = True) -> list[ArmResult]:
    """Return every arm's scores over the cuts, and its paired change from the first, if that is a
    base.

    The variance between cuts, divided by their number, is in every interval.
    """
    outcome = outcome_of(trial.labels)
    cuts = [
        influence_within_cells(
            [task for arm in arms for task in tasks(outcome, arm.scores[cut])], cells
        )
        for cut, cells in enumerate(trial.cells)
    ]
    single = np.eye(len(arms))
    own, changes = _estimates(trial.rows, cuts, single, (0.0, 1.0)), [_NONE] * len(arms)
    if has_base:
        changes[1:] = _estimates(trial.rows, cuts, single[1:] - single[0], (-1.0, 1.0))
    return [
        ArmResult(
            arm.name,
            "",
            _most(values),
            trial.scored,
            *values,
            *change,
            runs=(arm.run,) * bool(arm.run),
            note=arm.note,
        )
        for arm, values, change in zip(arms, own, changes, strict=True)
    ]


def _estimates(
    rows: Rows, cuts: Sequence[Influence], of_arms: Floats, limits: tuple[float, float]
) -> list[Metrics]:
    """Return the metrics of combinations of arms; None where a score in it is not defined. of_arms:
    weights, a row for each."""
    weights = np.kron(of_arms, _OF_SCORES)
    by_cut = np.stack([each.values[:, 0] for each in cuts])
    noise = np.zeros(len(weights))
    if len(cuts) > 1:
        noise = np.nan_to_num(
            [np.var(by_cut[:, w != 0] @ w[w != 0], ddof=1) / len(cuts) for w in weights]
        )
    over_cuts = estimates(mean_influence(cuts), rows.pert, rows.gene, list(weights), limits)
    values = [
        None if np.isnan(each.value) else widen(each, float(variance), limits)
        for [each], variance in zip(over_cuts, noise, strict=True)
    ]
    return [*zip(values[::3], values[1::3], values[2::3], strict=True)]


def _most(values: Metrics) -> int:
    return max((each.n for each in values if each is not None), default=0)
