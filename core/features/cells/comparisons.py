"""Compare a perturbation's cells with controls inside strata, in parts of the genes: its own cells,
its replicates, and mock perturbations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from core.base.fields.setting import Count, setting
from core.features.cells.anndata_file import COUNTS_PER_CELL, CountSummary
from core.features.cells.conditions import split_by_depth
from core.features.cells.groups import CellGroups
from core.features.cells.replicates import (
    CellGroup,
    ModeratedVariance,
    Replicates,
    build_replicates,
    find_kind,
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


@dataclass(frozen=True, slots=True)
class DesignSettings:
    """Settings for comparing cells. depth_bins: number of bins by detected genes; 1 uses all cells
    together. cells_alone: do not test replicates.
    """

    depth_bins: Annotated[
        Count,
        setting(
            "Compare cells inside of this many bins of cells with as many genes seen; 1 for none.",
            title="Bins of depth",
        ),
    ] = 4
    cells_alone: Annotated[
        bool,
        setting(
            "Labels rest on cells alone; replicates (guides, batches) are not tested.",
            title="Do not test replicates",
        ),
    ] = False


@dataclass(frozen=True, eq=False)
class Design:
    """strata: of each cell, -1 for none, with bins of depth; None compares all cells. batch: the
    same without these bins.

    replicates: of the perturbations, and of the controls as the last group; None without enough of
    them. mocks, mock_replicates: mock perturbations and their pseudobulks.
    """

    strata: Codes | None = None
    batch: Codes | None = None
    replicates: Replicates | None = None
    mocks: Mocks | None = None
    mock_replicates: Replicates | None = None
    counts_per_value: float = 1.0


def build_design(
    groups: CellGroups,
    batch: Codes | None,
    counts: CountSummary,
    n_genes: int,
    settings: DesignSettings,
) -> Design:
    """Return how the cells of a file are compared. batch: the stratum of each cell, -1 for none.

    Cells are alike in depth that have as many genes: that can be told of normalised values, too,
    and is what a rank sum takes for an effect. A count is the smallest value of a cell.
    """
    is_control = groups.of_cell == -1
    strata = split_by_depth(
        batch, counts.detected.astype(np.float64), is_control, settings.depth_bins
    )
    usable = np.ones(len(is_control), dtype=np.bool_) if strata is None else strata >= 0
    of_cell = np.where(usable, groups.of_cell, -2)
    guide = None if groups.guides is None else _codes(groups.guides)
    mocks = draw_mocks(
        of_cell, np.zeros_like(of_cell) if strata is None else strata, guide, n_genes
    )
    per_value = (
        float(np.median(counts.totals[is_control] / counts.least[is_control])) / COUNTS_PER_CELL
    )
    kind = None if settings.cells_alone else find_kind(of_cell, guide, batch)
    if kind is None:
        return Design(strata, batch, None, mocks, None, per_value)
    unit = guide if kind == "guide" and guide is not None else batch
    assert unit is not None  # replicates are guides or batches
    control = np.flatnonzero(of_cell == -1)
    compared = [
        CellGroup(np.flatnonzero(of_cell == i), control) for i in range(len(groups.targets))
    ]
    if kind == "guide":
        compared.append(CellGroup(control, control))
    replicates = build_replicates(kind, compared, unit, batch)
    of_mocks = None if mocks is None else build_replicates(kind, mocks.groups, unit, batch)
    return Design(strata, batch, replicates, mocks, of_mocks, per_value)


def _codes(names: np.ndarray) -> Codes:
    """Return the code of each cell's guide, -1 without a guide."""
    code, found = pd.factorize(names)
    return np.where(np.array(found, dtype=object) == "", -1, np.arange(len(found)))[code].astype(
        np.intp
    )


MOST_MOCKS: Final = 40
LEAST_MOCKS: Final = 20
LEAST_MOCK_CELLS: Final = 10  # of a mock, and of the controls that it is compared with
MOCK_GENES: Final = 2_000  # that mocks are compared in, so that they take a small part of the time
SEED: Final = 0


@dataclass(frozen=True, eq=False)
class Mocks:
    """Mock perturbations.

    groups: their cells and the cells compared with each; genes: positions of the compared genes.
    n_guides: the most control guides in a mock; 0 if controls have fewer than two.
    """

    groups: tuple[CellGroup, ...]
    genes: Codes
    n_guides: int


def draw_mocks(of_cell: Codes, strata: Codes, guide: Codes | None, n_genes: int) -> Mocks | None:
    """Return mock perturbations modelled on random real ones; None if there are too few controls.

    of_cell: the perturbation of each cell, -1 for controls; strata, guide: of each cell, -1 for
    none. The same cells always give the same mocks.
    """
    rng = np.random.default_rng(SEED)
    targets = np.unique(of_cell[(of_cell >= 0) & (strata >= 0)])
    if not len(targets):
        return None
    n = min(MOST_MOCKS, max(LEAST_MOCKS, len(targets)))
    like = np.concatenate([rng.permutation(targets) for _ in range(-(-n // len(targets)))])[:n]
    control = np.flatnonzero((of_cell == -1) & (strata >= 0))
    guides = np.empty(0, dtype=np.intp) if guide is None else np.unique(guide[control])
    guides = guides[guides >= 0]
    guides = guides if len(guides) > 1 else guides[:0]  # of one guide, controls are drawn by cells
    found = [
        _draw(
            np.flatnonzero((of_cell == each) & (strata >= 0)), control, strata, guide, guides, rng
        )
        for each in like
    ]
    groups = tuple(
        each for each in found if min(len(each.cells), len(each.reference)) >= LEAST_MOCK_CELLS
    )
    genes = np.sort(rng.choice(n_genes, min(n_genes, MOCK_GENES), replace=False))
    return Mocks(groups, genes, len(guides) // 2) if groups else None


def _draw(
    real: Codes,
    control: Codes,
    strata: Codes,
    guide: Codes | None,
    guides: Codes,
    rng: np.random.Generator,
) -> CellGroup:
    """Return one mock. real: the cells of the perturbation to imitate; guides: of the controls,
    empty if unknown."""
    if guide is not None and len(guides):
        n_guides = max(1, min(len(np.unique(guide[real])), len(guides) // 2))
        chosen = np.isin(guide[control], rng.choice(guides, n_guides, replace=False))
        candidates, others = control[chosen], control[~chosen]
    else:
        candidates = rng.permutation(control)[: len(control) // 2]
        others = np.setdiff1d(control, candidates)
    drawn = []
    for stratum, wanted in zip(*np.unique(strata[real], return_counts=True), strict=True):
        there = candidates[strata[candidates] == stratum]
        drawn.append(rng.permutation(there)[:wanted])
    cells = np.sort(np.concatenate(drawn))
    if not len(guides):
        others = np.setdiff1d(control, cells)  # the half that was not drawn is compared with, too
    return CellGroup(cells, others)
