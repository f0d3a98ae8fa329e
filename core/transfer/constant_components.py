"""Find the cells in which a component of a fusion is constant. There it changes no order, whatever
its weight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from core.stats.arrays import Codes, Floats, codes_or_one
from core.stats.ranks import round_for_ranks


def constant_sentences(
    names: Sequence[str], de: Iterable[Floats], up: Iterable[Floats], cells: Codes | None
) -> list[str]:
    """Return one sentence for each number of a component that is constant in some cells, where its
    weight changes no order.

    names: of the components, the base first. de, up: their numbers, each of shape (n_rows,), NaN if
    missing. Without cells, all rows form one cell.
    """
    sentences = []
    for what, columns in (("P(DE)", de), ("P(up | DE)", up)):
        for name, values in zip(names, columns, strict=True):
            inside = codes_or_one(cells, len(values))
            constant, of_cells, rows = count_constant_cells(values, inside)
            where = (
                f"in all {rows:,} rows"
                if of_cells == 1
                else f"inside {constant:,} of {of_cells:,} cells ({rows:,} rows)"
            )
            if constant:
                sentences.append(
                    f"{name} has one {what} {where}: there its weight changes no order."
                )
    return sentences


def count_constant_cells(values: Floats, cells: Codes) -> tuple[int, int, int]:
    """Return the number of constant cells, of cells with several rows, and of rows in the constant
    cells.

    values: of shape (n_rows,); NaN is left out. cells: codes of shape (n_rows,).
    """
    of_cells = pd.Series(round_for_ranks(values)).groupby(cells).agg(["count", "nunique"])
    several = of_cells[of_cells["count"] > 1]
    constant = several[several["nunique"] == 1]
    return len(constant), len(several), int(constant["count"].sum())
