"""The cells of each perturbation, and of the controls that they are compared with."""

from __future__ import annotations

import re
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
from core.features.cells.conditions import Conditions
from core.features.cells.gene_names import ENSEMBL
from core.features.cells.strata import LEAST_CONTROLS
from core.features.importing.perturbations import read_perturbations
from core.stats.arrays import Floats

MIN_CELLS = 30  # of a perturbation, and of the controls
_BESIDE = re.compile(r"[|_:;. -]")  # separators between a symbol and other text in a gene's name


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
    targets = list(names.singles)
    position = {gene: i for i, gene in enumerate(targets)}
    of_gene = found.genes_of_cell
    code, distinct = pd.factorize(of_gene)
    group = np.array([position.get(gene, -2) for gene in distinct])
    of_cell = np.where(found.is_control, -1, group[code])
    of_cell = np.where(empty | ~found.is_chosen, -2, of_cell)
    chosen = _choose_targets(file, targets, of_cell, settings)
    position = {gene: i for i, gene in enumerate(chosen)}
    # the last two for codes -2 and -1
    of_cell = np.array([*(position.get(gene, -2) for gene in targets), -2, -1])[of_cell]
    without_controls, confounded = _compare_batches(
        file, columns.batch, of_cell, chosen, least_shared or settings.min_cells
    )
    groups = CellGroups(
        targets=tuple(chosen),
        of_cell=of_cell,
        guides=None if columns.guide is None else texts(file.obs[columns.guide]),
        small=tuple(gene for gene in targets if gene not in set(chosen)),
        unknown=tuple(gene for gene in chosen if gene not in set(file.genes)),
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
    if not targets:
        raise InputError(
            f"{file.path}: no perturbation of a single gene, expected some beside the controls"
        )
    n_cells = np.bincount(of_cell[of_cell >= 0], minlength=len(targets))
    small = [
        f"{gene} ({n})"
        for gene, n in zip(targets, n_cells.tolist(), strict=True)
        if n < settings.min_cells
    ]
    if small and not settings.leave_out_small:
        raise InputError(
            f"{file.path}: fewer than {settings.min_cells} cells for {len(small):,} of"
            f" {len(targets):,} perturbations: {list_some(small)}; leave them out with"
            " --leave-out-small, or set --min-cells"
        )
    if len(small) == len(targets):
        raise InputError(
            f"{file.path}: every perturbation has fewer than {settings.min_cells} cells:"
            f" {list_some(small)}"
        )
    genes = set(file.genes)
    unknown = [gene for gene in targets if gene not in genes]
    if unknown and not settings.keep_unknown:
        raise InputError(
            f"{file.path}: perturbed genes that are not among its {file.n_genes:,} genes:"
            f" {list_some(unknown)}; {_advise(unknown, targets, file)}"
        )
    return [
        gene for gene, n in zip(targets, n_cells.tolist(), strict=True) if n >= settings.min_cells
    ]


def _advise(unknown: Sequence[str], targets: Sequence[str], file: CellFile) -> str:
    """Return hints on perturbed genes that were not measured, and the option to set."""
    ids = [
        sum(ENSEMBL.fullmatch(name) is not None for name in names) > len(names) / 2
        for names in (unknown, file.genes)
    ]
    if len(unknown) == len(targets) and ids[0] != ids[1]:
        kinds = (
            "Ensembl's identifiers" if ids[0] else "symbols",
            "Ensembl's identifiers" if ids[1] else "symbols",
        )
        return (
            f"they are {kinds[0]} and the genes {kinds[1]}: say which column of var has the former"
            " with --gene-names COLUMN"
        )
    parts = {part for gene in file.genes for part in _BESIDE.split(gene)} - set(file.genes)
    if 2 * len(parts & set(unknown)) > len(unknown):
        return (
            f"the genes are called {', '.join(file.genes[:2])} …, with something beside the"
            " symbols. Write the symbols alone into a column of var, and name it with --gene-names"
            " COLUMN"
        )
    known = {*file.genes, *targets} - set(unknown)
    for joint in (" and ", " x ", "_", "-", ":", ".", "~", "*", "^", "@", " "):
        joined = [
            n
            for n in unknown
            if joint in n and {n.partition(joint)[0], n.rpartition(joint)[2]} & known
        ]
        if joined:
            return (
                f"{list_some(joined)} may be combinations joined by {joint!r} (--separator"
                f" {joint!r}), or guides, whose genes another column of obs may hold"
                " (--perturbation COLUMN). If they are neither, keep them with --keep-unknown"
            )
    if len(unknown) == len(targets) and (other := _column_of_genes(file)):
        return f"{other} of obs names measured genes: --perturbation {other}"
    if len(unknown) == len(targets) > 1:
        return (
            f"the genes are called {list_some(file.genes[:3])} …: say which column of var has the"
            " former with --gene-names COLUMN"
        )
    return (
        "controls are named with --control, and cells without a guide have to leave the file. If"
        " they are genes that were not measured, keep them with --keep-unknown (whether their"
        " guides work cannot be told then)"
    )


def _column_of_genes(file: CellFile) -> str:
    """Return the first column of obs with at least two measured genes, and with most values naming
    measured genes; "" without one.
    """
    for name in map(str, file.obs.columns):
        if pd.api.types.is_numeric_dtype(file.obs[name].dtype):
            continue
        read = read_perturbations(
            texts(file.obs[name]), file.gene_names.spellings, need_controls=False
        ).of_value.values()
        named = [each for each in read if each.genes]
        known = sum(set(each.genes) <= set(file.genes) for each in named)
        if known > 1 and 2 * known > len(named):
            return name
    return ""


def _compare_batches(
    file: CellFile, column: str | None, of_cell: np.ndarray, targets: Sequence[str], least: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the perturbations with cells in a batch without a control, and those that share
    batches with too few controls or by too few cells: fewer than least, or than all that there are.
    column: of the batch; None: there is none to compare."""
    if column is None:
        return (), ()
    batch, names = pd.factorize(texts(file.obs[column]), sort=True)
    n_control = np.bincount(batch[of_cell == -1], minlength=len(names))
    perturbed = of_cell >= 0
    alone = np.unique(of_cell[perturbed & (n_control[batch] == 0)])
    usable = (n_control >= LEAST_CONTROLS) & (np.array(names, dtype=object) != "")
    cells = np.bincount(of_cell[perturbed], minlength=len(targets))
    shared = perturbed & usable[batch]
    beside = np.unique(np.column_stack([of_cell[shared], batch[shared]]), axis=0)
    controls = np.bincount(beside[:, 0], weights=n_control[beside[:, 1]], minlength=len(targets))
    enough = np.bincount(of_cell[shared], minlength=len(targets)) >= np.minimum(least, cells)
    enough &= controls >= min(least, int(n_control.sum()))
    return tuple(targets[i] for i in alone.tolist()), tuple(
        targets[i] for i in np.flatnonzero(~enough).tolist()
    )
