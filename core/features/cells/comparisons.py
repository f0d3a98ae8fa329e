"""Compare a perturbation's cells with controls inside strata, in parts of the genes: its own cells,
its replicates, and mock perturbations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from core.features.cells.design import Design, Mocks
from core.features.cells.replicates import (
    ModeratedVariance,
    Replicates,
    variance_of_cells,
)
from core.stats.arrays import Codes, Floats
from core.stats.multiplicity import benjamini_hochberg

FOLD_LIMIT = 20.0  # as in pdex: the fold change where one of both means is 0
_LARGEST_Z = 37.0  # a p of 1e-300, beyond which there is no p to tell z from
# of each gene its p, the mean of its counts, and U, all of shape (n_genes,)
Compared = tuple[Floats, Floats, Floats]
# Gets the cells of each perturbation, of shape (n_cells, n_genes), and the controls; yields in
# order what `compare_cells` returns.
CompareEach = Callable[[Iterable[np.ndarray], np.ndarray], Iterator[Compared]]


@dataclass(frozen=True, slots=True, eq=False)
class Stratum:
    """control: positions of its cells; cells: of each group with some there, by the group's
    number."""

    control: Codes
    cells: tuple[tuple[int, Codes], ...]


def plan_strata(groups: Sequence[Codes], control: Codes, strata: Codes) -> tuple[Stratum, ...]:
    """Return the strata with controls, and which cells of each group are compared there. strata: of
    each cell, -1 for none."""
    inside = [(i, rows, strata[rows]) for i, rows in enumerate(groups)]
    by_stratum: dict[int, list[tuple[int, Codes]]] = {
        each: [] for each in np.unique(strata[control]).tolist() if each >= 0
    }
    for i, rows, codes in inside:
        for each in np.unique(codes).tolist():
            if each in by_stratum:
                by_stratum[each].append((i, rows[codes == each]))
    return tuple(
        Stratum(control[strata[control] == each], tuple(cells))
        for each, cells in by_stratum.items()
        if cells
    )


def compare_in_strata(
    values: np.ndarray, plan: Iterable[Stratum], n_groups: int, compare_each: CompareEach
) -> tuple[Floats, Floats]:
    """Return the two-sided p and the log2 fold change of n_groups groups in the genes of values, of
    shape (n_cells, n_genes); both of shape (n_groups, n_genes), NaN if no stratum has one.

    Each stratum's z, corrected for ties, counts by √(n·m / (n + m + 1)) of its n perturbed and m
    control cells, which is what van Elteren's weights make of it. Means are those of all cells; the
    controls' are weighted by the perturbed cells of the strata, so that both have one composition.
    """
    shape = (n_groups, values.shape[1])
    z, weights, sums, control_sums = (np.zeros(shape) for _ in range(4))
    n_compared = np.zeros((n_groups, 1))
    for stratum in plan:
        reference = values[stratum.control]
        m, control_mean = len(reference), reference.mean(axis=0, dtype=np.float64)
        compared = compare_each((values[rows] for _, rows in stratum.cells), reference)
        for (i, rows), (p, mean, u) in zip(stratum.cells, compared, strict=True):
            n, tested = len(rows), np.isfinite(p)
            size = np.minimum(-ndtri(np.where(tested, p, 1.0) / 2), _LARGEST_Z)
            weight = np.where(tested, np.sqrt(n * m / (n + m + 1)), 0.0)
            z[i] += weight * np.sign(u - n * m / 2) * size
            weights[i] += weight**2
            sums[i] += n * mean
            control_sums[i] += n * control_mean
            n_compared[i] += n
    spread = np.sqrt(weights)
    pooled = np.divide(z, spread, out=np.full_like(spread, np.nan), where=spread > 0)
    n_compared[n_compared == 0] = np.nan
    change = log2_fold_change(sums / n_compared, control_sums / n_compared)
    return 2 * ndtr(-np.abs(pooled)), change


def log2_fold_change(mean: Floats, control_mean: Floats) -> Floats:
    """Return log2(mean / control_mean), limited to ±log2(FOLD_LIMIT) if one is 0, NaN if both are
    0; any shape."""
    with np.errstate(divide="ignore", invalid="ignore"):
        change: Floats = np.log2(mean / control_mean)
    change[(control_mean == 0) & (mean > 0)] = np.log2(FOLD_LIMIT)
    change[(control_mean > 0) & (mean == 0)] = -np.log2(FOLD_LIMIT)
    return change


@dataclass(frozen=True, slots=True, eq=False)
class ReplicateChanges:
    """The results of replicates; arrays of shape (n_targets, n_genes).

    fdr: of the two-sided moderated t test of pseudobulks. n_up: how many of a perturbation's
    replicates rise. n: their number, of shape (n_targets,). kind: of replicates. degrees: of
    freedom of the tests.
    """

    fdr: Floats
    n_up: np.ndarray
    n: Codes
    kind: str
    degrees: float


class ReplicateTests:
    """Moderated t tests of the pseudobulks of n_targets perturbations, added in parts of genes."""

    def __init__(
        self, replicates: Replicates, control: Codes, design: Design, shape: tuple[int, int]
    ) -> None:
        self._replicates, self._control, self._design = replicates, control, design
        self._n_targets = shape[0]
        self._changes = np.full((len(replicates.own), shape[1]), np.nan)
        self._n_up = np.zeros(shape, dtype=np.int16)
        # of each gene; changes of mocks are less by the shift as well
        self.shift, self._squares, self._of_cell, self._counts = np.zeros((4, shape[1]))

    def add(self, genes: slice, values: np.ndarray) -> None:
        """Add some genes. values: of shape (n_cells, n_genes of the part)."""
        found, per_value = self._replicates, self._design.counts_per_value
        changes = found.changes(values, per_value)
        if found.kind == "guide":
            # guides of the controls have a mean of 0, which one of means of all their cells is not
            # if clones differ
            self.shift[genes] = found.group_changes(changes)[-1]
            changes -= self.shift[genes]
        self._changes[:, genes] = found.group_changes(changes)
        # the last group may be the controls
        rises = (found.members > 0).astype(np.int16) @ (changes > 0).astype(np.int16)
        self._n_up[:, genes] = rises[: self._n_targets]
        reference = values[self._control]
        batch = None if self._design.batch is None else self._design.batch[self._control]
        self._squares[genes] = found.squares(changes)
        self._of_cell[genes] = variance_of_cells(reference, batch, per_value)
        self._counts[genes] = reference.mean(axis=0, dtype=np.float64) * per_value

    @cached_property
    def variance(self) -> ModeratedVariance:
        """The variance, when all genes were added."""
        return self._replicates.moderate(self._squares, self._of_cell, self._counts)

    def finish(self, p_of_cells: Floats) -> ReplicateChanges:
        """Return the tests where cells were tested, too. p_of_cells: of shape (n_targets,
        n_genes)."""
        found = self._replicates
        p = self.variance.p_values(self._changes, found)[: self._n_targets]
        p[np.isnan(p_of_cells)] = np.nan
        fdr = np.apply_along_axis(benjamini_hochberg, 1, p)
        n = found.n_units[: self._n_targets]
        return ReplicateChanges(fdr, self._n_up, n, found.kind, self.variance.degrees)


@dataclass(frozen=True, eq=False)
class MockChanges:
    """The changes found for mocks; arrays of shape (n_mocks, n_chosen_genes), replicate_p NaN if
    replicates are not tested."""

    mocks: Mocks
    p: Floats
    log2_fc: Floats
    replicate_p: Floats


class MockTests:
    """The same tests of mock perturbations, in the genes that were chosen, added in parts of
    genes."""

    def __init__(self, mocks: Mocks, design: Design, n_cells: int) -> None:
        self._mocks, self._design = mocks, design
        strata = np.zeros(n_cells, dtype=np.intp) if design.strata is None else design.strata
        self._plans = [plan_strata([each.cells], each.reference, strata) for each in mocks.groups]
        shape = (len(mocks.groups), len(mocks.genes))
        self._p, self._log2_fc, self._changes = np.full((3, *shape), np.nan)

    def add(self, genes: slice, values: np.ndarray, compare_each: CompareEach) -> None:
        """Add those of some genes that were chosen. values: of shape (n_cells, n_genes of the
        part)."""
        first, last = np.searchsorted(self._mocks.genes, [genes.start, genes.stop]).tolist()
        if first == last:
            return
        chosen, place = values[:, self._mocks.genes[first:last] - genes.start], slice(first, last)
        for i, plan in enumerate(self._plans):
            p, change = compare_in_strata(chosen, plan, 1, compare_each)
            self._p[i, place], self._log2_fc[i, place] = p[0], change[0]
        if (replicates := self._design.mock_replicates) is not None:
            self._changes[:, place] = replicates.group_changes(
                replicates.changes(chosen, self._design.counts_per_value)
            )

    def finish(self, tested: ReplicateTests | None) -> MockChanges:
        """Return the changes of the mocks. tested: replicates, None if they are not tested."""
        replicate_p = np.full_like(self._p, np.nan)
        if tested is not None and (replicates := self._design.mock_replicates) is not None:
            genes = self._mocks.genes
            changes = self._changes - tested.shift[genes]
            replicate_p = tested.variance.take(genes).p_values(changes, replicates)
            replicate_p[np.isnan(self._p)] = np.nan
        return MockChanges(self._mocks, self._p, self._log2_fc, replicate_p)
