"""The dataset of a cell line of PerturbQA, made again from its files whenever one of them comes or goes."""

from __future__ import annotations

from collections.abc import Sequence

from core.actions import packs
from core.actions.import_target import Imported, ImportedRows, ImportOptions, record_import, refuse_empty_import
from core.actions.workspace import Workspace
from core.datasets import PairTable
from core.datasets.cell_lines import CellLine, combine_files
from core.store import Cursor, file_rows, imports, pairs
from core.store.datasets import Dataset
from core.types import Label, Rejected


def write_file(
    db: Cursor, workspace: Workspace, table: PairTable, path: str, target: Dataset, options: ImportOptions
) -> Imported:
    """Adds what a file says to its cell line; rows that contradict the line's other files are rejected, whichever came first.

    Raises InputError as `refuse_empty_import` does.
    """
    workspace.refuse_if_read_only("import", path)
    before = combine_files(file_rows.of_dataset(db, target.id))
    source = record_import(db, workspace, table, path, ImportedRows(len(table.pairs), table.rejected, target.id))
    file_rows.add(db, source, table.pairs, table.lines)
    line = combine(db, target.id)
    conflicts = line.rejected.get(source, ())  # none of a file whose rows were all rejected
    rejected = [*table.rejected, *conflicts]
    n_rows = len(table.pairs) - len(conflicts)
    elsewhere = [row for other, rows in before.rejected.items() for row in line.rejected[other] if row not in rows]
    refuse_empty_import(path, n_rows, [*rejected, *elsewhere] if options.strict else rejected, options)
    pairs.add_genes(db, [symbol for pair in table.pairs for symbol in (pair.pert, pair.gene)], {})
    packs.describe_genes(workspace, db)
    message = "; ".join((*_describe_rows(line, target.name, elsewhere), *table.notes))
    return Imported(path, table.kind, target.name, n_rows, tuple(rejected), message=message)


def combine(db: Cursor, dataset: str) -> CellLine:
    """Makes the rows of a cell line again from what its files say, and returns them."""
    files = file_rows.of_dataset(db, dataset)
    line = combine_files(files)
    pairs.replace(db, dataset, line.pairs, line.sources)
    for file in files:
        conflicts = line.rejected[file.source]
        imports.replace_conflicts(db, file.source, conflicts, len(file.pairs) - len(conflicts))
    return line


def _describe_rows(line: CellLine, name: str, elsewhere: Sequence[Rejected]) -> tuple[str, ...]:
    if len(line.rejected) == 1:
        return ()
    directed = sum(pair.label in (Label.UP, Label.DOWN) for pair in line.pairs)
    described = f"{name} has {len(line.pairs):,} rows now, {directed:,} of them with a direction"
    contradicted = (
        f"; {len(elsewhere):,} rows of {', '.join(sorted({row.file for row in elsewhere}))} contradict it and are rejected"
    )
    return (described + (contradicted if elsewhere else ""),)
