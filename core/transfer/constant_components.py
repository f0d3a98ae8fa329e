"""Find the cells in which a component of a fusion is constant. There it changes no order, whatever its weight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from core.stats.arrays import Codes, Floats, sum_by_group
from core.stats.ranks import round_for_ranks


@dataclass(frozen=True, slots=True)
class ConstantComponent:
    """A component of a fusion with one value in some cells. component: its position in the fusion, 0 for the base. what: the
    number that is constant. cells: number of constant cells; of_cells: number of cells with several rows; rows: number of rows
    in the constant cells.
    """

    component: int
    what: str
    cells: int
    of_cells: int
    rows: int


def find_constant_components(de: Iterable[Floats], up: Iterable[Floats], cells: Codes | None) -> list[ConstantComponent]:
    """Return the components that are constant in at least one cell. Without cells, all rows form one cell.

    de, up: the numbers of each component, the base first, each of shape (n_rows,), NaN if missing.
    """
    found = []
    for what, columns in (("P(DE)", de), ("P(up | DE)", up)):
        for component, values in enumerate(columns):
            counts = count_constant_cells(values, np.zeros(len(values), dtype=np.intp) if cells is None else cells)
            if counts[0]:
                found.append(ConstantComponent(component, what, *counts))
    return found


def count_constant_cells(values: Floats, cells: Codes) -> tuple[int, int, int]:
    """Return the number of constant cells, of cells with several rows, and of rows in the constant cells.

    values: of shape (n_rows,); NaN is left out. cells: codes of shape (n_rows,).
    """
    known = ~np.isnan(values)
    _, levels = np.unique(round_for_ranks(values[known]), return_inverse=True)
    n_cells = int(cells.max(initial=-1)) + 1
    rows = sum_by_group(cells[known], n_cells)
    pairs = np.unique(np.stack([cells[known], levels], axis=1), axis=0)
    distinct = sum_by_group(pairs[:, 0], n_cells)
    several = rows > 1
    constant = several & (distinct == 1)
    return int(constant.sum()), int(several.sum()), int(rows[constant].sum())


def constant_sentences(found: Sequence[ConstantComponent], names: Sequence[str]) -> list[str]:
    """Return one sentence for each constant component and the cells where it changes no order. names: of the components, base
    first.
    """
    return [f"{names[each.component]} has one {each.what} {_where(each)}: there its weight changes no order." for each in found]


def _where(each: ConstantComponent) -> str:
    if each.of_cells == 1:
        return f"in all {each.rows:,} rows"
    return f"inside {each.cells:,} of {each.of_cells:,} cells ({each.rows:,} rows)"
