"""The cells of each perturbation, and of the controls that they are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd
from annotated_types import Ge

from core.base.errors import InputError
from core.base.fields.record import check_values
from core.base.fields.setting import setting
from core.base.texts import list_some
from core.features.cells.anndata_file import CellFile
from core.features.cells.columns import texts
from core.features.cells.conditions import LEAST_CONTROLS, Conditions
from core.stats.arrays import Floats

MIN_CELLS = 30  # of a perturbation, and of the controls


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The perturbations to compare. min_cells: of a perturbation.

    leave_out_small: leave out those with fewer instead of refusing the file. keep_unknown: accept a
    perturbed gene that was not measured; whether its guides work is then unknown.
    """

    min_cells: Annotated[
        int,
        Ge(2),
        setting(
            "The fewest cells of a perturbation.", title="Fewest cells of a perturbation", key="min"
        ),
    ] = MIN_CELLS
    leave_out_small: Annotated[
        bool,
        setting(
            "Leave out perturbations with fewer cells.", title="Leave out perturbations with fewer"
        ),
    ] = False
    keep_unknown: Annotated[
        bool,
        setting(
            "Keep perturbations whose gene is not among the genes.",
            title="Keep perturbed genes that were not measured",
        ),
    ] = False

    def __post_init__(self) -> None:
        check_values(self)


@dataclass(frozen=True, slots=True, eq=False)
class CellGroups:
    """The cells of each perturbation of a single gene.

    targets: the perturbed genes, sorted. of_cell: of shape (n_cells,), a cell's position in
    `targets`, -1 for controls, -2 for omitted cells. guides: the text of the guide column, of shape
    (n_cells,), None without one. small: omitted for too few cells. unknown: used, but not among the
    genes. multiple: perturbations of several genes, omitted. unassigned, set_aside, empty: numbers
    of omitted cells: without a perturbation, similar to controls but not among the named ones, and
    without counts. without_controls: perturbations with cells in a batch without controls.
    confounded: perturbations with too few cells, or too few controls beside them, in batches with
    LEAST_CONTROLS controls, so that their effects cannot be distinguished from the batch's.
    """

    targets: tuple[str, ...]
    of_cell: np.ndarray
    guides: np.ndarray | None
    small: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    multiple: tuple[str, ...] = ()
    unassigned: int = 0
    set_aside: int = 0
    empty: int = 0
    without_controls: tuple[str, ...] = ()
    confounded: tuple[str, ...] = ()

    @property
    def n_control(self) -> int:
        return int((self.of_cell == -1).sum())

    @property
    def n_cells(self) -> np.ndarray:
        """The number of cells of each perturbation, of shape (n_targets,)."""
        return np.bincount(self.of_cell[self.of_cell >= 0], minlength=len(self.targets))


def group_cells(
    file: CellFile,
    found: Conditions,
    totals: Floats | None,
    settings: GroupSettings,
    least_shared: int | None = None,
) -> CellGroups:
    """Return the groups of a file's cells. totals: the counts of each cell, those without any are
    left out; None: all have some.

    least_shared: the fewest cells of a perturbation in batches with controls; None: the fewest
    cells of a perturbation.

    Raise InputError for perturbations with too few cells, too few controls, and perturbed genes
    that are not among the genes (unless the settings say otherwise), and if no perturbation of a
    single gene is left.
    """
    columns, names = found.columns, found.names
    empty = np.zeros(file.n_cells, dtype=bool) if totals is None else totals == 0
    genes_of_cell = np.where(empty, "", found.genes_of_cell)
    targets = _choose_targets(file, names.singles, genes_of_cell, settings)
    of_cell = pd.Index(targets, dtype=object).get_indexer(pd.Index(genes_of_cell, dtype=object))
    of_cell = np.where(of_cell < 0, -2, of_cell)
    of_cell[found.is_control & ~empty] = -1
    measured = {*file.genes}
    without_controls, confounded = _compare_batches(
        file, columns.batch, of_cell, targets, least_shared or settings.min_cells
    )
    groups = CellGroups(
        targets=tuple(targets),
        of_cell=of_cell,
        guides=None if columns.guide is None else texts(file.obs[columns.guide]),
        small=tuple(gene for gene in names.singles if gene not in targets),
        unknown=tuple(gene for gene in targets if gene not in measured),
        multiple=names.multiple,
        unassigned=sum(names.count_values("missing").values()),
        set_aside=sum(names.count_values("set aside").values()),
        empty=int((empty & found.is_chosen).sum()),
        without_controls=without_controls,
        confounded=confounded,
    )
    if groups.n_control < settings.min_cells:
        raise InputError(
            f"{file.path}: {groups.n_control:,} control cells ({columns.perturbation} ="
            f" {columns.control!r}), expected at least {settings.min_cells}"
        )
    return groups


def _choose_targets(
    file: CellFile, targets: Sequence[str], of_cell: np.ndarray, settings: GroupSettings
) -> list[str]:
    """Return the perturbed genes with enough cells. of_cell: the gene of each cell."""
    if not targets:
        raise InputError(
            f"{file.path}: no perturbation of a single gene, expected some beside the controls"
        )
    n_cells = pd.Series(of_cell).value_counts().reindex([*targets], fill_value=0)
    small = n_cells[n_cells < settings.min_cells]
    shown = list_some([f"{gene} ({n})" for gene, n in small.items()])
    is_any = len(small) < len(targets)
    if len(small) and not (is_any and settings.leave_out_small):
        raise InputError(
            f"{file.path}: fewer than {settings.min_cells} cells for {len(small):,} of"
            f" {len(targets):,} perturbations: {shown};"
            f" {'leave them out with --leave-out-small, or ' if is_any else ''}set --min-cells"
        )
    measured = {*file.genes}
    unknown = [gene for gene in targets if gene not in measured]
    if unknown and not settings.keep_unknown:
        raise InputError(
            f"{file.path}: perturbed genes that are not among its {file.n_genes:,} genes:"
            f" {list_some(unknown)}, but {list_some(file.genes[:3])} …; they may be combinations"
            " (--separator _), guides (--perturbation COLUMN names their genes), controls"
            " (--control VALUE), or named as in another column of var (--gene-names COLUMN). Keep"
            " genes that were not measured with --keep-unknown"
        )
    return [gene for gene in targets if gene not in small.index]


def _compare_batches(
    file: CellFile, column: str | None, of_cell: np.ndarray, targets: Sequence[str], least: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the perturbations with cells in a batch without a control, and those that share
    batches with too few controls or by too few cells: fewer than least, or than all that there are.
    column: of the batch; None: there is none to compare."""
    if column is None:
        return (), ()
    batch, names = pd.factorize(texts(file.obs[column]))
    cells = np.zeros((len(targets) + 2, len(names)), dtype=np.int64)
    np.add.at(cells, (of_cell, batch), 1)  # the last rows for codes -2 and -1
    cells, n_control = cells[:-2], cells[-1]
    alone = (cells[:, n_control == 0] > 0).any(axis=1)
    usable = (n_control >= LEAST_CONTROLS) & (np.array(names, dtype=object) != "")
    shared = cells[:, usable]
    enough = shared.sum(axis=1) >= np.minimum(least, cells.sum(axis=1))
    enough &= (shared > 0) @ n_control[usable] >= min(least, int(n_control.sum()))
    kept = np.array(targets, dtype=object)
    return tuple(kept[alone]), tuple(kept[~enough])
