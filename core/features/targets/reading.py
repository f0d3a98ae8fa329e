"""Read cells for target ranking from an AnnData file in blocks, or simulate them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from core.base.errors import InputError
from core.base.fields.setting import Count, setting
from core.base.texts import list_some
from core.features.cells.anndata_file import CellFile, open_cells
from core.features.cells.columns import texts
from core.features.cells.conditions import FOUND, ReadingSettings, read_conditions
from core.features.cells.confounders import refuse_contradictions, refuse_mixed_lines
from core.features.cells.simulator import ScreenSettings, simulate_screen
from core.features.cells.transforms import read_counts
from core.features.targets.expression import (
    CONTROL,
    ExpressionSet,
    normalise,
    parse_condition,
    targets_in,
)

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
        refuse_mixed_lines(str(path), found.confounders, source.across)
        refuse_contradictions(str(path), found.contradictions)
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
