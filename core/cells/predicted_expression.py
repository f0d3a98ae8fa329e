"""Predicted expression as AnnData, of cells or one profile a perturbation: log2 fold changes over real controls.

The file is read in blocks, so it may be larger than memory. Expression is averaged on a linear scale: counts per 10,000 of a
cell, or expm1 of values that are log1p already. The log2 fold change is that of the means. Where one mean is 0 it is plus or
minus log2(20), as in pdex; where both are, nothing is said of the pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.sparse import csr_matrix

from core.cells.anndata_file import LARGEST_LOG, CellFile, check_values, open_cells, stored_values
from core.cells.columns import Columns, choose_columns, targets_of, texts
from core.cells.differential_expression import COUNTS_PER_CELL, log2_fold_change
from core.cells.predicted_changes import PredictedChanges, WantedPairs
from core.errors import InputError
from core.fields.record import setting
from core.stats.arrays import Codes, Floats

ValueScale = Literal["counts", "log1p"]
SCALES: tuple[ValueScale, ...] = ("counts", "log1p")
CONTROL = ""  # the group of the controls


@dataclass(frozen=True, slots=True)
class CellOptions:
    """How predicted cells are read.

    real: a file with real control cells, for predictions without any. perturbation, control: the column, and its value for
    controls; found by name if None. values: what X holds, told from the values if None.
    """

    real: Path | None = setting(None, "AnnData with real control cells, for predictions without any.", key="real_path")
    perturbation: str | None = setting(
        None, "AnnData: the column of obs that holds the perturbation.", title="Column of the perturbation in obs", missing=""
    )
    control: str | None = setting(
        None, "AnnData: its value for control cells.", title="Its value for controls", missing="non-targeting, ctrl, …"
    )
    values: ValueScale | None = setting(
        None,
        "AnnData: what X holds; told from the values by default.",
        title="What X holds",
        missing="told from the values",
        is_usage=True,
    )


@dataclass(frozen=True, slots=True, eq=False)
class GroupMeans:
    """Mean expression on a linear scale, of shape (n_groups, n_genes), and the cells behind each group.

    groups: symbols of the perturbed genes; CONTROL for the controls. values: what X held.
    """

    groups: tuple[str, ...]
    genes: tuple[str, ...]
    means: Floats
    n_cells: Codes
    values: ValueScale


def is_cell_file(path: Path) -> bool:
    """Whether a file's name says that it is AnnData."""
    return path.suffix.lower() == ".h5ad"


def read_predicted_cells(path: Path, wanted: WantedPairs, options: CellOptions) -> PredictedChanges:
    """Returns the predicted log2 fold changes of the wanted pairs, which are their evidence too.

    Controls are those of the file if it has any, else those of `options.real`. A perturbation of several genes is no pair. A
    pair is not covered if its perturbation or gene is missing, if the gene is not in the controls' file, or if both means are 0.
    Raises InputError for files and columns as `open_cells` and `choose_columns` do, for values that are negative or not finite,
    and without any controls.
    """
    with open_cells(path) as file:
        columns, has_controls = choose_predicted_columns(file, options)
        labels = texts(file.obs[columns.perturbation])
        named = {value: targets_of(value, columns.control) for value in set(labels)}
        known, genes = set(wanted.perts), set(wanted.genes)
        group_of = {value: targets[0] for value, targets in named.items() if len(targets) == 1 and targets[0] in known}
        if has_controls:
            group_of[columns.control] = CONTROL
        values = options.values or tell_scale(file)
        found = mean_expression(file, np.array([group_of.get(label) for label in labels], dtype=object), genes, values)
    controls = found if has_controls else _real_controls(options, genes)
    read_as = {"perturbation": columns.perturbation, "control": columns.control, "values": found.values}
    read_as["controls"] = "of the file" if has_controls else f"of the real file, {controls.values}"
    other = len([value for value in named if value not in group_of and value not in ("", columns.control)])
    change = _changes_of_pairs(found, controls, wanted)
    return PredictedChanges(np.abs(change), change, change, "log2_fc", read_as, other_pairs=other)


def choose_predicted_columns(file: CellFile, options: CellOptions) -> tuple[Columns, bool]:
    """Returns the columns of a file of predictions, and whether it has control cells.

    Without any, the columns are those of the real file. Raises InputError if there is none, or the column is missing.
    """
    if options.real is None:
        return choose_columns(file.obs, options.perturbation, options.control), True
    with open_cells(options.real) as real:
        theirs = choose_columns(real.obs, None, options.control)
    name = options.perturbation or theirs.perturbation
    if name not in file.obs.columns:
        raise InputError(
            f"{file.path}: no column {name!r}, which {options.real.name} has; obs has {', '.join(map(str, file.obs.columns))}; "
            "say which holds the perturbations with --perturbation"
        )
    return Columns(name, theirs.control), theirs.control in set(texts(file.obs[name]))


def tell_scale(file: CellFile) -> ValueScale:
    """Reads all values once and returns what they are: whole numbers, or any above LARGEST_LOG, are counts, others log1p.

    Raises InputError for values that are negative, not finite, or all 0.
    """
    whole, largest = True, 0.0
    for rows, block in file.blocks():
        values = stored_values(block)
        check_values(file, rows, block, values)
        largest = max(largest, float(np.max(values, initial=0)))
        whole = whole and bool(np.array_equal(values, np.rint(values)))
    if largest == 0:
        raise InputError(f"{file.path}: all values are 0, expected expression in X")
    return "counts" if whole or largest > LARGEST_LOG else "log1p"


def mean_expression(file: CellFile, groups: np.ndarray, wanted_genes: set[str], values: ValueScale) -> GroupMeans:
    """Returns the mean of each group's cells for the wanted genes that the file has.

    groups: of shape (n_cells,), a name or None for cells that belong to none. Cells without counts are left out.
    """
    names = tuple(sorted({name for name in groups if name is not None}))
    code = {name: i for i, name in enumerate(names)}
    codes = np.array([code.get(name, -1) for name in groups])
    genes = np.array([i for i, gene in enumerate(file.genes) if gene in wanted_genes], dtype=np.intp)
    sums, n_cells = np.zeros((len(names), len(genes))), np.zeros(len(names), dtype=np.int64)
    for rows, block in file.blocks():
        check_values(file, rows, block, stored_values(block))
        total = np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
        used = np.flatnonzero((codes[rows] >= 0) & (total > 0))
        linear = _linear(block[used][:, genes], total[used], values)
        members = csr_matrix((np.ones(len(used)), (codes[rows][used], np.arange(len(used)))), shape=(len(names), len(used)))
        sums += np.asarray((members @ linear).todense() if isinstance(linear, csr_matrix) else members @ linear)
        n_cells += np.bincount(codes[rows][used], minlength=len(names))
    means = np.divide(sums, n_cells[:, None], out=np.full_like(sums, np.nan), where=n_cells[:, None] > 0)
    return GroupMeans(names, tuple(file.genes[i] for i in genes), means, n_cells, values)


def _linear(block: csr_matrix | np.ndarray, total: Floats, values: ValueScale) -> csr_matrix | Floats:
    """Returns values on a linear scale; a cell's total counts are made COUNTS_PER_CELL."""
    if values == "log1p":
        return block.astype(np.float64).expm1() if isinstance(block, csr_matrix) else np.expm1(block.astype(np.float64))
    scale = COUNTS_PER_CELL / total
    if isinstance(block, csr_matrix):
        return csr_matrix(block.multiply(scale[:, None]))
    found: Floats = block * scale[:, None]
    return found


def _real_controls(options: CellOptions, genes: set[str]) -> GroupMeans:
    """Returns the mean expression of the real file's control cells."""
    assert options.real is not None
    with open_cells(options.real) as real:
        columns = choose_columns(real.obs, None, options.control)
        labels = texts(real.obs[columns.perturbation])
        groups = np.array([CONTROL if label == columns.control else None for label in labels], dtype=object)
        return mean_expression(real, groups, genes, tell_scale(real))


def _changes_of_pairs(found: GroupMeans, controls: GroupMeans, wanted: WantedPairs) -> Floats:
    """Returns the log2 fold change of each wanted pair, of shape (n_pairs,), NaN for those that are not covered."""
    group, gene = _places(found.groups, wanted.perts), _places(found.genes, wanted.genes)
    control_gene = _places(controls.genes, wanted.genes)
    covered = (group >= 0) & (gene >= 0) & (control_gene >= 0)
    change = np.full(len(wanted), np.nan)
    base = controls.means[controls.groups.index(CONTROL)] if CONTROL in controls.groups else np.zeros(0)
    if len(base):
        change[covered] = log2_fold_change(found.means[group[covered], gene[covered]], base[control_gene[covered]])
    return change


def _places(names: tuple[str, ...], wanted: tuple[str, ...]) -> Codes:
    """Returns the place of each wanted name among the names, -1 for one that is not there; of shape (n_wanted,)."""
    place: Mapping[str, int] = {name: i for i, name in enumerate(names)}
    return np.array([place.get(name, -1) for name in wanted], dtype=np.intp)
