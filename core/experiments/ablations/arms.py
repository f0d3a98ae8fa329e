"""Ways to score the same rows ("arms"), in the same cells, each compared with one arm as baseline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from core.stats.arrays import Codes, Floats
from core.stats.cell_auroc import influence_within_cells
from core.stats.delong import Estimate, estimates, widen
from core.stats.influence import Influence
from core.stats.scores_and_labels import Scores, outcome_of, tasks
from core.stats.verdicts import side_of
from core.texts import estimate_text
from core.transfer.labelled_rows import Rows

METRICS = ("DE", "DIR", "mean")
_LISTED = 3  # most arms named in a sentence
COLUMNS = ("arm", "metric", "estimate", "low", "high", "n", "change", "change_low", "change_high", "scored", "note")


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """The rows for scoring arms. labels: of shape (n_rows,); cells: of each cut, None for all pairs; scored: a description."""

    labels: NDArray[np.object_]
    rows: Rows
    cells: tuple[Codes | None, ...]
    scored: str


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """One way to score a trial's rows. scores: one for each cut, NaN for rows that the arm does not rank; note: a remark for
    people.
    """

    name: str
    scores: tuple[Scores, ...]
    note: str = ""


def one_cut(name: str, scores: Scores, trial: Trial, note: str = "") -> Arm:
    """Return an arm that saw no label, so it is the same under every cut of a trial."""
    return Arm(name, (scores,) * len(trial.cells), note)


def score_arms(trial: Trial, arms: Sequence[Arm], baseline: str | None = None) -> pd.DataFrame:
    """Return every arm's DE, DIR and mean over the cuts, with the interval shown, and its paired change from the baseline.

    Return the columns COLUMNS, one row for each arm and each metric that it ranks: estimate, low, high of the AUROC; n: number
    of scored rows; change, change_low, change_high: the arm minus the baseline, NaN for the baseline itself and without a
    baseline. The variance between cuts, divided by their number, is in every interval.
    """
    outcome = outcome_of(trial.labels)
    found = [
        influence_within_cells([task for arm in arms for task in tasks(outcome, arm.scores[cut])], cells)
        for cut, cells in enumerate(trial.cells)
    ]
    mean, by_cut = _mean_over_cuts(found), np.stack([each.values[:, 0] for each in found])
    names = [arm.name for arm in arms]
    at = None if baseline is None else names.index(baseline)
    lines = []
    for i, arm in enumerate(arms):
        weights = _weights(i, len(arms))
        values = _estimates(mean, by_cut, trial.rows, weights, (0.0, 1.0))
        changes = (
            None if at in (None, i) else _estimates(mean, by_cut, trial.rows, weights - _weights(at or 0, len(arms)), (-1.0, 1.0))
        )
        for j, metric in enumerate(METRICS):
            lines.append(_line(arm, metric, values[j], None if changes is None else changes[j], trial.scored))
    return pd.DataFrame(lines, columns=list(COLUMNS)).dropna(subset="estimate", ignore_index=True)


def _weights(arm: int, n_arms: int) -> Floats:
    """Return the weights that combine values into an arm's DE, DIR and mean, of shape (3, 2 · n_arms)."""
    weights = np.zeros((3, 2 * n_arms))
    weights[[0, 1], [2 * arm, 2 * arm + 1]] = 1.0
    weights[2, 2 * arm : 2 * arm + 2] = 0.5
    return weights


def _estimates(mean: Influence, by_cut: Floats, rows: Rows, weights: Floats, limits: tuple[float, float]) -> list[Estimate]:
    found = estimates(mean, rows.pert, rows.gene, list(weights), limits)
    variances = [0.0] * len(weights)
    if len(by_cut) > 1:
        variances = [float(np.var(by_cut[:, w != 0] @ w[w != 0], ddof=1)) / len(by_cut) for w in weights]
    return [
        widen(each[0], 0.0 if np.isnan(variance) else variance, limits) for each, variance in zip(found, variances, strict=True)
    ]


def _mean_over_cuts(found: Sequence[Influence]) -> Influence:
    members = np.any([each.members for each in found], axis=0)
    n_statistics = len(found[0].values)
    return Influence(
        np.mean([each.values for each in found], axis=0),
        members.reshape(n_statistics, 2, -1).sum(axis=(1, 2), dtype=np.float64)[:, None],
        np.mean([each.parts for each in found], axis=0),
        members,
        found[0].stratum,
    )


def _line(arm: Arm, metric: str, value: Estimate, change: Estimate | None, scored: str) -> tuple[object, ...]:
    shown = value.shown
    moved = (np.nan, np.nan, np.nan) if change is None else change.shown.ends
    return (arm.name, metric, *shown.ends, value.n, *moved, scored, arm.note)


def mask_scores(scores: Scores, rows: NDArray[np.bool_]) -> Scores:
    """Return scores with NaN outside the chosen rows, so that only these count."""
    return Scores(np.where(rows, scores.p_de, np.nan), np.where(rows, scores.p_up, np.nan))


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with its interval; NaN if unknown."""

    estimate: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """As "0.538 [0.520, 0.556]"."""
        return estimate_text(self.estimate, self.low, self.high)

    @property
    def change_text(self) -> str:
        """As "+0.012 [−0.003, +0.027]"."""
        return estimate_text(self.estimate, self.low, self.high, "+.3f")


def score_of(table: pd.DataFrame, arm: str, metric: str = "mean") -> Measured:
    """Return an arm's score in a table of `score_arms`; NaN if it has none."""
    return _read_measured(table, arm, metric, ("estimate", "low", "high"))


def change_of(table: pd.DataFrame, arm: str, metric: str = "mean") -> Measured:
    """Return an arm's change from the baseline in a table of `score_arms`."""
    return _read_measured(table, arm, metric, ("change", "change_low", "change_high"))


def _read_measured(table: pd.DataFrame, arm: str, metric: str, columns: Sequence[str]) -> Measured:
    found = table[(table["arm"] == arm) & (table["metric"] == metric)]
    numbers = found[list(columns)].to_numpy(dtype=np.float64)
    return Measured(*(numbers[0].tolist() if len(numbers) else (math.nan,) * 3))


def _list(texts: Sequence[str]) -> str:
    left = len(texts) - _LISTED
    return ", ".join(texts) if left <= 0 else f"{', '.join(texts[:_LISTED])} and {left} more"


def describe_changes(table: pd.DataFrame, baseline: str, metric: str = "mean") -> str:
    """Return one sentence on the arms that differ from the baseline in a metric, by the intervals of the paired changes."""
    name = {"mean": "the mean of DE and DIR", "DE": "DE", "DIR": "DIR"}[metric]
    known = table[(table["metric"] == metric) & table["change"].notna()]
    changes = {str(arm): change_of(table, str(arm), metric) for arm in known["arm"]}
    if not changes:
        return f"No arm can be compared with {baseline} in {name}."
    better = [f"{arm} {change.change_text}" for arm, change in changes.items() if side_of(change) == "above"]
    worse = [f"{arm} {change.change_text}" for arm, change in changes.items() if side_of(change) == "below"]
    parts = [f"{word} than {baseline}: {_list(some)}" for word, some in (("better", better), ("worse", worse)) if some]
    if parts:
        return f"In {name}, {'; '.join(parts)}."
    arm, largest = max(changes.items(), key=lambda item: abs(item[1].estimate))
    if len(changes) == 1:
        return f"In {name}, {arm} and {baseline} cannot be distinguished: {largest.change_text}."
    return f"In {name}, no arm can be distinguished from {baseline}; the largest difference is {arm}, {largest.change_text}."
