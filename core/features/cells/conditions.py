"""What was done to each cell of a file: one reading of columns, names, genes and controls, for all
that reads cells."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Final

import numpy as np
import pandas as pd

from core.base.errors import InputError
from core.base.fields.record import options_of
from core.base.fields.setting import setting
from core.base.texts import list_some
from core.features.cells.anndata_file import CellFile, ValueScale
from core.features.cells.columns import Columns, choose_columns, require_column, texts
from core.features.cells.confounders import (
    DIFFERS,
    Confounder,
    describe_second_genes,
    find_confounders,
)
from core.features.importing.perturbations import PerturbationNames, read_perturbations
from core.stats.arrays import Bools, Codes, Floats

FOUND = "found by name"
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class ReadingSettings:
    """How cells are read. perturbation: the column of obs, None to find it. control: values of the
    controls or patterns, none to find them. where: column → the value that cells have to have.
    across: columns whose values are taken together."""

    perturbation: Annotated[
        str | None,
        setting(
            "What was done to a cell: a column of obs; found by name.",
            title="Perturbation column",
            missing=FOUND,
            metavar="COLUMN",
        ),
    ] = None
    control: Annotated[
        tuple[str, ...],
        setting(
            "The column's value for control cells, or a pattern such as 'NT*'; only these count"
            " then. Found by name without it.",
            title="Values of controls",
            metavar="VALUE",
        ),
    ] = ()
    gene_names: Annotated[
        str | None,
        setting(
            "The column of var that names the genes, or index; found by the perturbed symbols.",
            title="Column of gene names in var",
            missing=FOUND,
            metavar="COLUMN",
        ),
    ] = None
    separator: Annotated[
        str | None,
        setting(
            "What joins the genes of a combination, such as _; found by itself.",
            title="Between genes of a combination",
            missing=FOUND,
        ),
    ] = None
    values: Annotated[
        ValueScale | None,
        setting(
            "What the values are: counts (or their means), or log1p of normalised counts; told from"
            " them by default.",
            title="What the values are",
            missing="told from the values",
        ),
    ] = None
    layer: Annotated[
        str | None,
        setting(
            "The layer, or entry of obsm, that holds the values; X without it.",
            missing="X",
            metavar="NAME",
        ),
    ] = None
    where: Annotated[
        Mapping[str, str],
        setting(
            "Only cells, or rows of a table, with this value in a column.",
            title="Only cells where",
            metavar="COLUMN=VALUE",
        ),
    ] = field(default_factory=dict)
    across: Annotated[
        tuple[str, ...],
        setting(
            "Take the cell lines (or types) in this column together.",
            title="Columns taken together",
            metavar="COLUMN",
        ),
    ] = ()


READING_VERSION: Final = 4  # increase this if the same file and settings are read differently
READING: Final = tuple(option.name for option in options_of(ReadingSettings))


@dataclass(frozen=True, eq=False)
class Conditions:
    """The conditions of the cells.

    values: of the perturbation column, of shape (n_cells,). is_chosen: flags of the cells selected
    by `where`. names: the meaning of each value of a chosen cell. confounders: of the chosen cells.
    strata: the number of each cell's stratum, None without strata; without_stratum: cells not
    chosen because their stratum has no controls. contradiction: the
    description of a contradicting column, or "".
    """

    columns: Columns
    names: PerturbationNames
    values: np.ndarray
    is_chosen: Bools
    confounders: tuple[Confounder, ...]
    strata: Codes | None = None
    without_stratum: int = 0
    contradiction: str = ""

    @cached_property
    def is_control(self) -> Bools:
        """Of shape (n_cells,)."""
        is_kind = {
            value: meaning.kind == "control" for value, meaning in self.names.of_value.items()
        }
        return self._look_up(is_kind, False).astype(np.bool_)

    @cached_property
    def genes_of_cell(self) -> np.ndarray:
        """The perturbed genes of each cell joined by +, "" for controls and cells that are left
        out; of shape (n_cells,)."""
        name_of = {value: meaning.name for value, meaning in self.names.of_value.items()}
        return self._look_up(name_of, "")

    def refuse_unclear(self, where: str, handled: Collection[str], *, within: bool = False) -> None:
        """Raise InputError for cells of several lines unless the column was handled, and for
        columns that contradict that of perturbations. within: whether they can be compared inside
        each line."""
        for each in self.confounders:
            if each.is_line and each.column not in handled:
                raise InputError(f"{where}: {each.question(within=within)}")
        if self.contradiction:
            raise InputError(f"{where}: {self.contradiction}")

    def _look_up(self, table: Mapping[str, Any], other: Any) -> np.ndarray:
        code, distinct = pd.factorize(self.values)
        of_value = np.array([table.get(value, other) for value in distinct], dtype=object)
        return np.where(self.is_chosen, of_value[code], other)

    def lines(self) -> list[str]:
        """Return the decisions, in lines for people."""
        lines = self.names.lines()
        if self.without_stratum:
            lines.append(f"in strata without controls, left out: {self.without_stratum:,} cells")
        if self.contradiction:
            lines.append(f"contradicts: {self.contradiction}")
        return [*lines, *(f"{DIFFERS}: {each.line()}" for each in self.confounders)]


def read_conditions(
    file: CellFile,
    settings: ReadingSettings,
    batch: str | None = None,
    guide: str | None = None,
    *,
    columns: Columns | None = None,
    wanted_genes: Sequence[str] = (),
) -> Conditions:
    """Return the perturbations of the cells of a file, and name its genes.

    columns: already chosen, for a file that may lack controls. wanted_genes: symbols that the genes
    should have. Raise the InputErrors of `choose_columns`, `choose_gene_names` and
    `read_perturbations`, and InputError if `where` selects no cell.
    """
    chosen = choose_cells(file, settings.where)
    for name in settings.across:
        require_column(file.obs, "across", name)
    if columns is None:
        columns = choose_columns(
            file.obs[chosen], settings.perturbation, settings.control, batch, guide
        )
    values = texts(file.obs[columns.perturbation])
    file.name_genes([*pd.unique(values[chosen]), *wanted_genes], settings.gene_names)
    spellings = file.gene_names.spellings
    names = read_perturbations(
        values[chosen],
        spellings,
        settings.control,
        settings.separator or "",
        need_controls=bool(columns.control),
    )
    if columns.guide is None and names.count_values("genes", "guide"):
        columns = replace(columns, guide=columns.perturbation)
    if columns.control:
        columns = replace(columns, control=list_some(names.controls, _SHOWN) or "none")
    found = Conditions(columns, names, values, chosen, ())
    others = {columns.perturbation, columns.guide or "", *columns.others, *settings.where}
    is_perturbed = found.genes_of_cell != ""
    confounders = find_confounders(file.obs, found.is_control, is_perturbed, others)
    contradiction = describe_second_genes(
        file.obs, columns.perturbation, found.genes_of_cell, found.is_control, spellings
    )
    return replace(found, confounders=confounders, contradiction=contradiction)


def choose_cells(file: CellFile, where: Mapping[str, str]) -> Bools:
    chosen = np.ones(file.n_cells, dtype=np.bool_)
    for name, value in where.items():
        require_column(file.obs, "where", name)
        values = texts(file.obs[name])
        if value not in values:
            raise InputError(
                f"{file.path}: --where {name}={value}: no cell has it; {name} has"
                f" {list_some(sorted(set(values)), _SHOWN)}"
            )
        chosen &= values == value
    if not chosen.any():
        raise InputError(
            f"{file.path}: no cell where"
            f" {', '.join(f'{name} = {value}' for name, value in where.items())}"
        )
    return chosen


LEAST_CONTROLS: Final = 2  # fewest controls of a stratum for comparing perturbed cells
CONTROLS_PER_BIN: Final = 40  # fewest controls in a bin of similar depth


Within = Annotated[
    tuple[str, ...],
    setting(
        "Compare cells inside each value of this column of obs (a batch, a cell line), and pool.",
        title="Compare inside each",
        metavar="COLUMN",
    ),
]


def compare_within(file: CellFile, found: Conditions, columns: Sequence[str]) -> Conditions:
    """Return the conditions with strata: the values of some columns of obs, inside of which cells
    are compared.

    Cells without a stratum, or of one without controls, are not chosen. Raise InputError for
    columns that obs does not have, and if no stratum has controls.
    """
    if not columns:
        return found
    for name in columns:
        require_column(file.obs, "within", name)
    parts = [texts(file.obs[name]) for name in columns]
    names = np.array(
        [" / ".join(each) if all(each) else "" for each in zip(*parts, strict=True)], dtype=object
    )
    strata = number_strata(names, found.is_control)
    if (strata < 0).all():
        raise InputError(
            f"{file.path}: no stratum of {list_some(columns)} has {LEAST_CONTROLS} control cells,"
            " expected at least one that has"
        )
    lost = found.is_chosen & (strata < 0)
    return replace(
        found,
        is_chosen=found.is_chosen & ~lost,
        strata=strata,
        without_stratum=int(lost.sum()),
    )


def strata_of_batches(batch: np.ndarray, is_control: Bools) -> Codes | None:
    """Return the number of each cell's stratum, its batch; -1 in batches with fewer than
    LEAST_CONTROLS controls or without a name. None where all cells are in one batch. batch: texts
    of shape (n_cells,)."""
    return None if len(set(batch.tolist())) == 1 else number_strata(batch, is_control)


def number_strata(names: np.ndarray, is_control: Bools) -> Codes:
    """Return the number of each cell's stratum, -1 for strata with fewer than LEAST_CONTROLS
    controls and for "" (no stratum)."""
    code, known = pd.factorize(names, sort=True)
    usable = (np.bincount(code[is_control], minlength=len(known)) >= LEAST_CONTROLS) & (
        np.array(known, dtype=object) != ""
    )
    return np.where(usable, np.cumsum(usable) - 1, -1)[code].astype(np.intp)


def split_by_depth(
    strata: Codes | None, depth: Floats, is_control: Bools, most_bins: int
) -> Codes | None:
    """Return strata of cells with similar depth: each is cut at quantiles of its controls.

    strata: of shape (n_cells,), -1 for cells that are not compared; None is one for all. depth: of
    each cell, such as its number of genes. A stratum has as many bins as leave CONTROLS_PER_BIN
    controls in each, at most most_bins. Return strata if no bin can be made.
    """
    known = np.zeros(len(depth), dtype=np.intp) if strata is None else strata
    found, n = np.full(len(depth), -1, dtype=np.intp), 0
    for stratum in range(known.max(initial=-1) + 1):
        inside = known == stratum
        control = depth[inside & is_control]
        bins = min(most_bins, len(control) // CONTROLS_PER_BIN)
        limits = (
            np.unique(np.quantile(control, np.arange(1, bins) / bins)) if bins > 1 else np.empty(0)
        )
        # otherwise the lowest bin would have no controls
        limits = limits[limits > control.min()] if bins > 1 else limits
        found[inside] = n + np.searchsorted(limits, depth[inside], side="right")
        n += len(limits) + 1
    return strata if n == known.max(initial=-1) + 1 else found
