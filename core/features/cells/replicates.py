"""Replicates of a perturbation, its guides or batches: a moderated t test of their pseudobulks, as
limma makes it, and whether they agree.

A rank sum of cells takes each cell for an independent answer; cells of one guide (one clone, one
batch) are not. The variance between replicates is pooled over all perturbations of a screen and the
controls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Self

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.sparse import csr_matrix
from scipy.special import digamma, polygamma, stdtr

from core.stats.arrays import Codes, Floats

LEAST_CELLS: Final = 3  # of a pseudobulk
# of freedom between replicates: three of a perturbation and three of the controls
LEAST_DEGREES: Final = 4
LEAST_BATCHES: Final = 3  # if there are no guides
# to a pseudobulk: the root of a Poisson count then has the root of its mean
ADDED_COUNT: Final = 0.25
_LEAST_COUNTS: Final = 5.0  # of a pseudobulk, in genes that say how far replicates differ
Kind = Literal["guide", "batch"]


@dataclass(frozen=True, eq=False)
class Replicates:
    """The pseudobulks of some groups of cells, and their reference: cells of the same batches.

    means: of shape (n_units, n_cells), averages the cells of each. reference: of shape (n_parts,
    n_cells), averages the cells of each batch that are compared with; shares: of shape (n_units,
    n_parts), the batches of each unit. members: of shape (n_groups, n_units), the weights of each
    group's units, which sum to 1; group: of each unit. n_cells: of each unit. own, sampling: of
    shape (n_groups,), the factors of the variance between replicates and of a cell's variance in a
    group's mean change. unit_sampling: of each unit.
    """

    kind: Kind
    means: csr_matrix
    reference: csr_matrix
    shares: csr_matrix
    members: csr_matrix
    group: Codes
    n_cells: Floats
    own: Floats
    sampling: Floats
    unit_sampling: Floats

    @property
    def n_units(self) -> Codes:
        """The number of replicates of each group, of shape (n_groups,)."""
        return np.bincount(self.group, minlength=len(self.own))

    @property
    def degrees(self) -> float:
        """The degrees of freedom between replicates of a group."""
        return float(np.maximum(self.n_units - 1, 0).sum())

    def changes(self, values: np.ndarray, counts_per_value: float) -> Floats:
        """Return each unit's change against its batches' controls, of shape (n_units, n_genes): 2
        (√ratio - 1) / ln 2.

        That is log2 of the ratio for small changes. Logarithms of few counts have a long tail
        below, which passes for effects; roots are nearly symmetric. values: of shape (n_cells,
        n_genes), on the scale of counts_per_value counts for 1.
        """
        part_cells = np.diff(self.reference.indptr)
        added = ADDED_COUNT / counts_per_value
        expected = self.shares @ (self.reference @ values)
        expected = expected + added / (self.shares @ part_cells)[:, None]
        ratio = (self.means @ values + added / self.n_cells[:, None]) / expected
        return np.asarray(2 / np.log(2) * (np.sqrt(ratio) - 1))

    def group_changes(self, changes: Floats) -> Floats:
        """Return the mean change of each group, of shape (n_groups, n_genes); NaN in groups without
        a unit."""
        found: Floats = self.members @ changes
        found[self.n_units == 0] = np.nan
        return found

    def _unit_weights(self) -> tuple[Floats, Floats]:
        """Return the weight of each unit's square, and the part of it that is no chance."""
        own, n_units = self.members.sum(axis=0).A1, self.n_units[self.group]
        return own * n_units, np.where(n_units > 1, own * (1 - own) * n_units, 0.0)

    def squares(self, changes: Floats) -> Floats:
        """Return how far units are from their groups' means, squared, of shape (n_genes,)."""
        weight, used = self._unit_weights()
        off = changes - self.group_changes(changes)[self.group]
        return np.asarray((weight[:, None] * off**2).sum(axis=0) / used.sum())

    def moderate(self, squares: Floats, of_cell: Floats, counts: Floats) -> ModeratedVariance:
        """Return the variances, moderated towards their trend: what sampling makes, and what
        replicates of most genes add. squares: of `squares`; of_cell: a cell's variance; counts: a
        cell's mean; all of shape (n_genes,)."""
        _, used = self._unit_weights()
        # the part of a cell's variance in a unit
        sampled = of_cell * float((used * self.unit_sampling).sum() / used.sum())
        seen = counts * float(self.n_cells.mean()) >= _LEAST_COUNTS
        beyond = max(0.0, float(np.median((squares - sampled)[seen]))) if seen.any() else 0.0
        trend = sampled + beyond
        ratio = np.divide(squares, trend, out=np.full_like(trend, np.nan), where=trend > 0)
        moderated, added = moderate_variances(
            np.where(seen, ratio, np.nan) if seen.any() else ratio, self.degrees
        )
        own = np.where(seen, moderated, np.fmax(moderated, ratio)) * trend
        return ModeratedVariance(np.fmax(0.0, own - sampled), of_cell, self.degrees + added)


@dataclass(frozen=True, eq=False)
class CellGroup:
    """The cells to compare, and the cells for comparison, as positions."""

    cells: Codes
    reference: Codes


def find_kind(of_cell: Codes, guide: Codes | None, batch: Codes | None) -> Kind | None:
    """Return the kind of a screen's replicates; None without enough of them.

    of_cell: the perturbation of each cell, -1 for controls, -2 for none. guide, batch: codes of
    each cell, -1 where unknown.
    """
    kinds: tuple[tuple[Kind, Codes | None, int, int], ...] = (
        ("guide", guide, 1, -1),
        ("batch", batch, LEAST_BATCHES, 0),
    )
    for kind, unit, least, first in kinds:
        if unit is not None:
            cells = pd.DataFrame({"group": of_cell, "unit": unit})
            n_cells = cells[(of_cell >= first) & (unit >= 0)].value_counts()
            n_units = n_cells[n_cells >= LEAST_CELLS].groupby("group").size()
            if (n_units[n_units >= least] - 1).sum() >= LEAST_DEGREES:
                return kind
    return None


def build_replicates(
    kind: Kind, groups: Sequence[CellGroup], unit: Codes, batch: Codes | None
) -> Replicates:
    """Return the pseudobulks of each group: the cells of one unit (a guide or a batch, -1 for
    none).

    batch: of each cell, -1 for cells that are not compared; None is one for all.
    """
    batches = np.zeros_like(unit) if batch is None else batch
    n_batches = int(batches.max(initial=0)) + 1
    # the cells of a reference in each batch; id of it → its first part
    parts, first_part = list[Codes](), dict[int, int]()
    # of each unit: its group, its cells, and the parts beside these; of each group: the factor of
    # the variance between replicates that its reference adds
    numbers, units, beside, terms = list[int](), list[Codes](), list[Codes](), list[float]()
    for number, each in enumerate(groups):
        reference = each.reference
        if id(reference) not in first_part:
            first_part[id(reference)] = len(parts)
            parts += [reference[batches[reference] == code] for code in range(n_batches)]
        first = first_part[id(reference)]
        has_reference = np.array([len(part) > 0 for part in parts[first : first + n_batches]])
        cells = each.cells[(batches[each.cells] >= 0) & (unit[each.cells] >= 0)]
        cells = cells[has_reference[batches[cells]]]
        for code in np.unique(unit[cells]).tolist():
            inside = cells[unit[cells] == code]
            if len(inside) >= LEAST_CELLS:
                numbers.append(number)
                units.append(inside)
                beside.append(first + batches[inside])
        known = reference[unit[reference] >= 0]
        share = np.bincount(unit[known]) / max(1, len(known))
        terms.append(float((share**2).sum()) if kind == "guide" else 0.0)
    group = np.array(numbers, dtype=np.intp)
    size, part_size = (
        np.array([len(each) for each in of], dtype=np.float64) for of in (units, parts)
    )
    inverse = np.divide(1, part_size, out=np.zeros(len(parts)), where=part_size > 0)
    shares = _averages(beside, len(parts))
    # between equal weights and weights by cells, because both guides and cells differ
    weight = 1 / (1 / size + 1 / size.mean()) if len(size) else size
    weight = weight / np.bincount(group, weights=weight, minlength=len(groups))[group]
    members = csr_matrix((weight, (group, np.arange(len(group)))), shape=(len(groups), len(group)))
    composition, squares = members @ shares, members.multiply(members)
    return Replicates(
        kind,
        means=_averages(units, len(unit)),
        reference=_averages(parts, len(unit)),
        shares=shares,
        members=members,
        group=group,
        n_cells=size,
        own=squares @ np.ones(len(group)) + np.array(terms),
        sampling=squares @ (1 / size) + composition.multiply(composition) @ inverse,
        unit_sampling=1 / size + (0 if kind == "guide" else shares.multiply(shares) @ inverse),
    )


def _averages(positions: Sequence[Codes], n_columns: int) -> csr_matrix:
    """Return a matrix that averages the columns at some positions, which may come several times; of
    a row each."""
    sizes = np.array([len(each) for each in positions], dtype=np.intp)
    columns = np.concatenate([*positions, np.empty(0, dtype=np.intp)]).astype(np.intp)
    # 32 bits like the values, which would otherwise be copied
    data = np.repeat(
        np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > 0), sizes
    ).astype(np.float32)
    matrix = csr_matrix(
        (data, columns, np.concatenate([[0], np.cumsum(sizes)])), shape=(len(positions), n_columns)
    )
    matrix.sum_duplicates()
    return matrix


@dataclass(frozen=True, eq=False)
class ModeratedVariance:
    """between: replicates, of shape (n_genes,); of_cell: a cell's; degrees: of freedom of their
    sum."""

    between: Floats
    of_cell: Floats
    degrees: float

    def take(self, genes: Codes) -> Self:
        """Return the expression of some genes."""
        return type(self)(self.between[genes], self.of_cell[genes], self.degrees)

    def p_values(self, changes: Floats, replicates: Replicates) -> Floats:
        """Return the two-sided p of each group's mean change, both of shape (n_groups, n_genes)."""
        variance = (
            replicates.own[:, None] * self.between + replicates.sampling[:, None] * self.of_cell
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = 2 * stdtr(self.degrees, -np.abs(changes) / np.sqrt(variance))
        return found


def variance_of_cells(control: np.ndarray, batch: Codes | None, counts_per_value: float) -> Floats:
    """Return the variance of one cell in log2 of a pseudobulk's mean, of shape (n_genes,), from the
    controls inside of batches; at least that of counts. control: of shape (n_cells, n_genes)."""
    n, mean = len(control), control.mean(axis=0, dtype=np.float64)
    within, degrees = np.zeros(control.shape[1]), 0
    codes = np.zeros(n, dtype=np.intp) if batch is None else batch
    for each in np.unique(codes).tolist():
        inside = control[codes == each]
        if len(inside) > 1:
            within += inside.var(axis=0, dtype=np.float64) * len(inside)
            degrees += len(inside) - 1
    level = mean + ADDED_COUNT / counts_per_value / n
    relative = np.fmax(within / max(1, degrees) / level**2, 1 / (counts_per_value * level))
    return np.asarray(relative / np.log(2) ** 2)


_LARGEST_DEGREES = 1e6  # instead of infinitely many


def moderate_variances(variances: Floats, degrees: float) -> tuple[Floats, float]:
    """Return the moderated variances and the degrees of freedom that the prior adds.

    variances: of shape (n_genes,), each of `degrees` degrees of freedom, on a scale on which they
    are alike; NaN and 0 do not count for the prior, and its mean is returned for them. Source:
    Smyth (2004), Statistical Applications in Genetics and Molecular Biology 3:3, and fitFDist in
    limma.
    """
    usable = np.isfinite(variances) & (variances > 0)
    if usable.sum() < 3:
        return variances, 0.0
    logs = np.log(variances[usable]) - digamma(degrees / 2) + np.log(degrees / 2)
    excess = float(logs.var(ddof=1) - polygamma(1, degrees / 2))
    if excess <= 0:
        added, prior = _LARGEST_DEGREES, float(np.exp(logs.mean()))
    else:
        # trigamma(x) lies between 1 / x and 1 / x + 1 / x²
        x = brentq(lambda x: polygamma(1, x) - excess, 1 / excess, 1 / excess + 1, xtol=1e-12)
        added = min(2 * float(x), _LARGEST_DEGREES)
        prior = float(np.exp(logs.mean() + digamma(added / 2) - np.log(added / 2)))
    own = np.where(usable, variances, prior)
    moderated: Floats = (degrees * own + added * prior) / (degrees + added)
    return moderated, added
