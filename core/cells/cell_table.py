"""A table of cells with their perturbations: `protospacer_calls_per_cell.csv` of Cell Ranger, or any other with a column of
barcodes. Its columns become columns of obs.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from core.cells.anndata_file import CellFile
from core.cells.columns import texts
from core.cells.predicted_table import read_header, read_parts, readable_table
from core.errors import InputError

_SHOWN = 3


def add_cell_table(file: CellFile, path: Path) -> None:
    """Add the columns of a table to obs, by the column that names the cells; cells without a row have missing values.

    Raise InputError for a table that names none of the cells, one of them twice, or a column that obs has already.
    """
    with readable_table(path) as table:
        header = list(read_header(table))
        rows = pd.concat([part.astype(object) for part in read_parts(table, header)])
    cells = pd.Index(texts(pd.Series(file.obs.index)))
    named = {column: pd.Index(texts(rows[column])) for column in header}
    key = max(header, key=lambda column: int(named[column].isin(cells).sum()))
    if not named[key].isin(cells).any():
        raise InputError(
            f"{path}: names none of the {file.n_cells:,} cells of {file.path.name}, which are called "
            f"{', '.join(cells[:_SHOWN])} …; expected a column with these, has {', '.join(map(repr, header[:8]))}"
        )
    twice = named[key][named[key].duplicated() & named[key].isin(cells)]
    if len(twice):
        raise InputError(f"{path}: cell {twice[0]} stands in several rows, expected one for each cell")
    columns = [column for column in header if column != key]
    there = [column for column in columns if column in file.obs.columns]
    if there:
        raise InputError(f"{path}: obs of {file.path.name} has {', '.join(there)} already; leave it out of the table")
    found = rows[columns].set_axis(named[key]).reindex(cells)
    file.obs = pd.concat([file.obs, found.set_axis(file.obs.index)], axis=1)
