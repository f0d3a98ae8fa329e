"""Test whether a run orders rows by their labels (or against them) so well that it must have seen
them.

A mean over the labels of a gene's other rows orders rows too: on screens with matched negatives one
that leaves the row out is the wrong way round, and inside a gene it is exactly so. Such a mean is
distinguished by pairs of rows that it cannot order: those whose genes (whose perturbations) have
the same share of positives among as many other rows. A run that has seen the labels orders these
pairs as well as any others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from core.stats.arrays import Bools, Codes, Floats, count_codes, divide, sum_by_group
from core.stats.cell_auroc import auroc_within_cells
from core.stats.ranks import equal_groups, midranks
from core.stats.scores_and_labels import Task

# of the headline's AUROC, and of its interval's end nearer to chance; no published run has .75
LIMIT, LIMIT_LOW = 0.75, 0.70
# of the variance explained by rates: a run is a mean over the labels of other rows
MEAN_OF_LABELS = 0.8
SAME_RATE = 0.70  # among pairs of rows whose genes, or perturbations, have the same rate
MANY, FEW = 10, 4  # groups of about the same rate
# shares of the rows at either end, their AUROC and number
EDGES, EDGE_LIMIT, LEAST_EDGE = (0.01, 0.02, 0.05), 0.95, 40
LEAST_PAIRS = 200
LEAST_ROWS = 20

Tail = Literal["", "labels", "inverted labels"]


@dataclass(frozen=True, slots=True)
class RunProbe:
    """One task of one run; each value is an AUROC, NaN if undefined, and near 0 if labels are
    inverted.

    same_rates: three AUROCs, among pairs of rows with equal rates in the other rows of their genes,
    with equal rates of their perturbations, and with equal rates of their genes and similar rates
    of their perturbations. edge: with similar rates of both, among the highest and lowest ranked
    rows; the value farthest from chance over the shares `EDGES` of all rows. by_rates: not an
    AUROC, but the share of the scores' variance explained by both rates and their product.
    """

    n: int
    same_rates: tuple[float, float, float]
    edge: float
    by_rates: float = 0.0

    def tail(self, value: float, low: float, high: float) -> Tail:
        """Return the tail of the scale that contains the run's AUROC and interval; "" for none."""
        if self.n < LEAST_ROWS:
            return ""
        same = np.array(self.same_rates)
        if value >= LIMIT and low >= LIMIT_LOW and (same >= SAME_RATE).all():
            return "labels"
        is_mean = self.by_rates >= MEAN_OF_LABELS
        if (
            value <= 1 - LIMIT
            and high <= 1 - LIMIT_LOW
            and (same <= 1 - SAME_RATE).all()
            and not is_mean
        ):
            return "inverted labels"
        return ""

    @property
    def edge_tail(self) -> Tail:
        """Return the tail for the rows at both ends, where a run puts rows whose labels it
        knows."""
        if self.by_rates >= MEAN_OF_LABELS:
            return ""
        if self.edge >= EDGE_LIMIT:
            return "labels"
        return "inverted labels" if self.edge <= 1 - EDGE_LIMIT else ""


def probe_run(task: Task, pert: Codes, gene: Codes) -> RunProbe:
    """Probe one task of a run; pert, gene: codes of shape (n_rows,)."""
    rows = np.flatnonzero(task.rows)
    positive, values = task.positive[rows], task.values[rows]
    rates = [_Rates.of(positive, axis[rows]) for axis in (gene, pert)]
    about = rates[0].cells * MANY + rates[1].about(MANY)
    coarse = rates[0].about(FEW) * FEW + rates[1].about(FEW)
    edges = (found for share in EDGES if len(found := _edge(values, share)) >= 2 * LEAST_EDGE)
    at_edges = [_auroc(positive[edge], values[edge], coarse[edge]) for edge in edges]
    known = [value for value in at_edges if not np.isnan(value)]
    same = (
        _auroc(positive, values, rates[0].cells),
        _auroc(positive, values, rates[1].cells),
        _auroc(positive, values, about),
    )
    edge = max(known, key=lambda value: abs(value - 0.5), default=float("nan"))
    return RunProbe(
        len(rows), same, edge, _explained_variance(values, rates[0].rate, rates[1].rate)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rates:
    """Of each row's group without the row: cells of equal numbers of rows and of positives, and the
    rate, of shape (n_rows,)."""

    cells: Codes
    rate: Floats

    @staticmethod
    def of(positive: Bools, group: Codes) -> _Rates:
        codes = np.unique(group, return_inverse=True)[1]
        n_groups = int(codes.max(initial=-1)) + 1
        others = sum_by_group(codes, n_groups)[codes] - 1
        hits = sum_by_group(codes, n_groups, positive)[codes] - positive
        cells = np.unique(np.stack([others, hits]), axis=1, return_inverse=True)[1].ravel()
        return _Rates(cells.astype(np.intp), divide(hits, others, -1.0))

    def about(self, n: int) -> Codes:
        """Return codes of n groups of about the same rate."""
        return equal_groups(self.rate, n).astype(np.intp) - 1


def _explained_variance(values: Floats, first: Floats, second: Floats) -> float:
    """Return the share of the values' variance explained by both rates and their product, among
    rows with both rates."""
    both = (first >= 0) & (second >= 0)
    values, first, second = values[both], first[both], second[both]
    total = float(((values - values.mean()) ** 2).sum()) if len(values) else 0.0
    if total <= 0:
        return 0.0
    known = np.column_stack([np.ones(len(values)), first, second, first * second])
    left = values - known @ np.linalg.lstsq(known, values, rcond=None)[0]
    return 1 - float((left**2).sum()) / total


def _edge(values: Floats, share: float) -> Codes:
    """Return the rows that are ranked highest and lowest, without ties that reach further in."""
    place = midranks(values) / max(1, len(values))
    return np.flatnonzero((place <= share) | (place > 1 - share))


def _auroc(positive: Bools, values: Floats, cells: Codes) -> float:
    """Return the AUROC from pairs inside cells, NaN from fewer than `LEAST_PAIRS` of them."""
    if not len(positive):
        return float("nan")
    n_cells = count_codes(cells)
    hits = sum_by_group(cells, n_cells, positive)
    if (hits * (sum_by_group(cells, n_cells) - hits)).sum() < LEAST_PAIRS:
        return float("nan")
    return auroc_within_cells(Task(np.ones(len(positive), dtype=np.bool_), positive, values), cells)
