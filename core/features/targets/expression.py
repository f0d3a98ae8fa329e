"""The expression of cells and their conditions, in memory. Models are trained on it and rank genes
from it.

Names of conditions: "ctrl" for control cells, "A" for one perturbed gene, "A+B" for several.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from core.base.errors import InputError
from core.base.fields.setting import Count, setting
from core.base.texts import list_some
from core.features.cells.anndata_file import COUNTS_PER_CELL, CellFile, open_cells
from core.features.cells.columns import texts
from core.features.cells.conditions import FOUND, ReadingSettings, read_conditions
from core.features.cells.scales import read_counts
from core.features.cells.simulator import ScreenSettings, simulate_screen

CONTROL: Final = "ctrl"
SEPARATOR: Final = "+"
N_MATCHED: Final = 16  # control cells for each cell, as published
Expression = NDArray[np.float32]
Codes = NDArray[np.intp]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ExpressionSet:
    """Cells with their conditions.

    x: of shape (n_cells, n_genes), float32, log1p of counts per 10,000. genes: unique symbols.
    conditions: of shape (n_cells,), canonical, of these genes. batches: of shape (n_cells,), one
    name for all without batches.
    """

    x: Expression
    genes: tuple[str, ...]
    conditions: NDArray[np.str_]
    batches: NDArray[np.str_]

    def sha256(self) -> str:
        """Return the SHA-256 of the cells, with their genes, conditions and batches."""
        digest = hashlib.sha256(
            json.dumps([self.genes, self.conditions.tolist(), self.batches.tolist()]).encode()
        )
        digest.update(np.ascontiguousarray(self.x).data)
        return digest.hexdigest()

    @property
    def is_control(self) -> Flags:
        """Flags of the control cells, of shape (n_cells,)."""
        return np.asarray(self.conditions == CONTROL)

    @property
    def perturbed(self) -> tuple[str, ...]:
        """The conditions of perturbed cells, sorted."""
        return tuple(str(name) for name in np.unique(self.conditions) if name != CONTROL)

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the cells at these positions or flags."""
        return type(self)(self.x[rows], self.genes, self.conditions[rows], self.batches[rows])

    def of_conditions(self, conditions: Iterable[str]) -> Self:
        """Return the cells of these conditions and the control cells."""
        return self.take(np.isin(self.conditions, [*conditions, CONTROL]))


@dataclass(frozen=True, slots=True, eq=False)
class MatchedControls:
    """Control cells for each of n cells.

    cells: expression of shape (n_controls, n_genes). rows: of shape (n, k), the positions in
    `cells` of each cell's controls. n_unmatched: cells whose batch has no control cell; their
    controls come from all batches.
    """

    cells: Expression
    rows: Codes
    n_unmatched: int = 0

    def means(self) -> Expression:
        """Return the mean expression of each cell's controls, of shape (n, n_genes)."""
        total = np.zeros((len(self.rows), self.cells.shape[1]), dtype=np.float32)
        for column in self.rows.T:
            total += self.cells[column]
        return total / np.float32(self.rows.shape[1])

    def take(self, rows: NDArray[Any] | slice) -> MatchedControls:
        """Return the controls of some of the n cells."""
        return MatchedControls(self.cells, self.rows[rows])


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedCells:
    """Perturbed cells, or averages of some, with their controls.

    x: of shape (n_cells, n_genes). targets: flags of the perturbed genes, of the same shape; at
    least one in each row.
    """

    x: Expression
    controls: MatchedControls
    targets: Flags
    conditions: NDArray[np.str_]
    batches: NDArray[np.str_]

    @property
    def changes(self) -> Expression:
        """The expression minus the mean of the controls."""
        return self.x - self.controls.means()

    @property
    def target_columns(self) -> list[list[int]]:
        """The positions of each row's targets."""
        return [np.flatnonzero(row).tolist() for row in self.targets]

    def take(self, rows: NDArray[Any] | slice) -> PerturbedCells:
        """Return some of the cells."""
        return PerturbedCells(
            self.x[rows],
            self.controls.take(rows),
            self.targets[rows],
            self.conditions[rows],
            self.batches[rows],
        )

    def groups(self, *, by_batch: bool) -> list[Codes]:
        """Return the positions of the cells of each condition (in each batch)."""
        labels = pd.DataFrame(
            {"condition": self.conditions, "batch": self.batches if by_batch else ""}
        )
        return [group.index.to_numpy() for _, group in labels.groupby(["condition", "batch"])]

    def average(self, *, by_batch: bool) -> PerturbedCells:
        """Return a row for each condition (in each batch): the mean of its cells and of their
        controls."""
        rows = self.groups(by_batch=by_batch)
        means = self.controls.means()
        first = [group[0] for group in rows]
        return PerturbedCells(
            np.stack([self.x[group].mean(axis=0) for group in rows]),
            MatchedControls(
                np.stack([means[group].mean(axis=0) for group in rows]),
                np.arange(len(rows), dtype=np.intp)[:, None],
            ),
            self.targets[first],
            self.conditions[first],
            self.batches[first],
        )


def take_perturbed(
    cells: ExpressionSet, pool: ExpressionSet, rng: np.random.Generator, what: str
) -> PerturbedCells:
    """Return the perturbed cells of a set, matched with control cells of `pool`.

    what: the use of the cells, such as "training". Raise InputError without a perturbed cell or a
    control cell.
    """
    perturbed = cells.take(~cells.is_control)
    if not len(perturbed.x):
        raise InputError(f"{what} cells: none is perturbed, expected at least one")
    names, of_cell = np.unique(perturbed.conditions, return_inverse=True)
    targets = np.stack([np.isin(cells.genes, targets_in(str(name))) for name in names])
    controls = match_controls(perturbed, pool, rng)
    return PerturbedCells(
        perturbed.x, controls, targets[of_cell], perturbed.conditions, perturbed.batches
    )


def match_controls(
    cells: ExpressionSet, pool: ExpressionSet, rng: np.random.Generator, n_matched: int = N_MATCHED
) -> MatchedControls:
    """Return `n_matched` random control cells of `pool` for each cell, of the same batch, so that a
    model sees the change by a perturbation and not by a batch.

    Controls of a cell are distinct if its batch has enough, and repeated otherwise. Raise
    InputError if there is no control cell.
    """
    controls = np.flatnonzero(pool.is_control)
    if not len(controls):
        raise InputError(
            f"control cells: none among {len(pool.x):,} cells, expected at least one of condition"
            f" {CONTROL}"
        )
    rows = np.zeros((len(cells.x), n_matched), dtype=np.intp)
    n_unmatched = 0
    for batch in np.unique(cells.batches):
        own = np.flatnonzero(cells.batches == batch)
        candidates = np.flatnonzero(pool.batches[controls] == batch)
        if not len(candidates):
            n_unmatched += len(own)
            candidates = np.arange(len(controls))
        order = rng.permutation(candidates)
        starts = rng.integers(len(order), size=(len(own), 1))
        rows[own] = order[(starts + np.arange(n_matched)) % len(order)]
    return MatchedControls(pool.x[controls], rows, n_unmatched)


def normalise(counts: NDArray[Any]) -> Expression:
    """Return log1p of counts per 10,000, of the shape (n_cells, n_genes) of the counts; a cell
    without counts is all 0."""
    totals = counts.sum(axis=1, dtype=np.float64, keepdims=True)
    scale = np.divide(COUNTS_PER_CELL, totals, out=np.zeros_like(totals), where=totals > 0)
    return np.asarray(np.log1p(counts * scale), dtype=np.float32)


def targets_in(condition: str) -> tuple[str, ...]:
    """Return the perturbed genes of a canonical condition; empty for control cells."""
    return () if condition == CONTROL else tuple(condition.split(SEPARATOR))


def parse_condition(text: str) -> str:
    """Return the canonical name of a condition: symbols sorted and joined by "+"; "ctrl" for
    control cells. Raise InputError for an empty part and for a repeated gene."""
    parts = [part.strip() for part in text.split(SEPARATOR)]
    if not all(parts):
        raise InputError(
            f"condition {text!r}: has an empty part, expected genes joined by +, such as A+B or"
            f" A+{CONTROL}"
        )
    symbols = sorted(part for part in parts if part != CONTROL)
    if len(set(symbols)) < len(symbols):
        raise InputError(f"condition {text!r}: names a gene twice, expected every gene once")
    return SEPARATOR.join(symbols) or CONTROL


Mask = Literal["none", "strongest", "targets"]
STRONGEST: Final = 10  # number of genes in the mask "strongest"


def mask_expression(
    x: Expression, control: Expression, mask: Mask, perturbed: Sequence[int] | Codes
) -> Expression:
    """Return expression of shape (n_rows, n_genes), with masked genes set to the value of the
    control cells, because a knocked-down gene reveals itself.

    control: of the same shape. perturbed: positions of the genes perturbed in any condition of the
    split, used by the mask "targets"; masking only those of the row's own condition would reveal
    it. If genes differ equally, the first are masked.
    """
    hidden = np.zeros(x.shape, dtype=np.bool_)
    if mask == "targets":
        hidden[:, perturbed] = True
    elif mask == "strongest":
        order = np.argsort(-np.abs(x - control), axis=1, kind="stable")
        np.put_along_axis(hidden, order[:, :STRONGEST], True, axis=1)
    return np.where(hidden, control, x)


CONTROL_CONDITIONS: Final = 10  # for control cells, the limit on cells is this many times as high
ONE_BATCH: Final = "all"
SIMULATED: Final = ScreenSettings(
    n_cells=3_000,
    n_genes=300,
    n_perturbations=40,
    n_doubles=20,
    share_failed_guides=0.1,
    share_control=0.15,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSource(ReadingSettings):
    """The source of cells.

    file: a path, "" for the simulated screen. batch: a column of obs, None to find it by name.
    seed: of the simulator and of the choice of cells. least_cells, most_cells: of a condition. If a
    condition has more cells, random ones are used; for control cells the limit is ten times as
    high.
    """

    file: str = ""
    batch: Annotated[
        str | None,
        setting(
            "The column of batches.", title="Column of batches", missing=FOUND, key="targets_batch"
        ),
    ] = None
    seed: int = 0
    least_cells: Annotated[
        Count,
        setting(
            "A condition with fewer cells is an error.",
            title="Fewest cells of a condition",
            key="least_cells",
        ),
    ] = 10
    most_cells: Annotated[
        Count,
        setting(
            "If a condition has more cells, this many random ones are used.",
            title="Most cells of a condition",
            key="most_cells",
        ),
    ] = 200

    @property
    def name(self) -> str:
        """A description of the source."""
        return Path(self.file).name if self.file else f"simulated screen, seed {self.seed}"


@dataclass(frozen=True, slots=True, eq=False)
class ReadCells:
    """Cells, and how they were chosen. notes: sentences on the columns, and on the cells that are
    read and left out."""

    cells: ExpressionSet
    notes: tuple[str, ...]


def read_source(source: CellSource) -> ReadCells:
    """Return the cells of a source.

    Raise the InputErrors of `core.features.cells.anndata_file`, and InputError for conditions with
    unknown genes or too few cells. Raise MissingPackage without anndata.
    """
    if source.file:
        return _read_file(source)
    screen = simulate_screen(SIMULATED, source.seed)
    conditions = np.array([parse_condition(text) for text in screen.obs["condition"].astype(str)])
    kept = _choose_cells(conditions, source, "simulated screen")
    batches = screen.obs["batch"].astype(str).to_numpy(dtype=np.str_)
    x = normalise(screen.counts[kept].toarray())
    cells = ExpressionSet(x, screen.genes, conditions[kept], batches[kept])
    return ReadCells(cells, (f"{len(kept):,} cells, {len(screen.genes):,} genes.",))


def _read_file(source: CellSource) -> ReadCells:
    path = Path(source.file)
    with open_cells(path, layer=source.layer) as file:
        found = read_conditions(file, source, source.batch)
        found.refuse_unclear(str(path), source.across)
        conditions = np.where(found.is_control, CONTROL, found.genes_of_cell)
        assigned = np.flatnonzero(conditions != "")
        perturbed = {
            gene for condition in conditions[assigned] for gene in targets_in(str(condition))
        }
        if missing := sorted(perturbed - {*file.genes}):
            raise InputError(
                f"perturbed genes {list_some(missing)}: not among the {len(file.genes):,} genes"
                " measured, so they could not be ranked; expected every perturbed gene there"
            )
        kept = assigned[_choose_cells(conditions[assigned].astype(np.str_), source, path.name)]
        read_counts(file, source.values)
        x = _read_rows(file, kept)
        batch = found.columns.batch
        batches = np.full(file.n_cells, ONE_BATCH) if batch is None else texts(file.obs[batch])
        cells = ExpressionSet(
            x, file.genes, conditions[kept].astype(np.str_), batches[kept].astype(np.str_)
        )
        controls = (
            "all cells: it has no column of batches" if batch is None else f"the same {batch}"
        )
        lines = (
            f"{len(kept):,} of {file.n_cells:,} cells, {len(file.genes):,} genes",
            f"Perturbations: column {found.columns.perturbation}; controls are of {controls}",
            *found.lines(),
        )
        return ReadCells(cells, tuple(f"{line}." for line in lines))


def _read_rows(file: CellFile, rows: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the normalised expression of some cells; the file is read once, in blocks."""
    x = np.zeros((len(rows), len(file.genes)), dtype=np.float32)
    for block, values in file.blocks():
        at = np.flatnonzero((rows >= block.start) & (rows < block.stop))
        if len(at):
            chosen = values[rows[at] - block.start]
            x[at] = normalise(chosen.toarray() if issparse(chosen) else np.asarray(chosen))
    return x


def _choose_cells(conditions: NDArray[np.str_], source: CellSource, where: str) -> NDArray[np.intp]:
    """Return the positions of the chosen cells, in order. Raise InputError for conditions with too
    few cells."""
    names, of_cell, counts = np.unique(conditions, return_inverse=True, return_counts=True)
    few = [f"{name} ({n})" for name, n in zip(names, counts, strict=True) if n < source.least_cells]
    if few:
        raise InputError(
            f"{where}: conditions with fewer than {source.least_cells} cells: {list_some(few)};"
            " remove them from the file, or allow fewer cells (--least-cells)"
        )
    rng = np.random.default_rng(source.seed)
    most = [source.most_cells * (CONTROL_CONDITIONS if name == CONTROL else 1) for name in names]
    kept = [rng.permutation(np.flatnonzero(of_cell == at))[:limit] for at, limit in enumerate(most)]
    return np.sort(np.concatenate(kept))
