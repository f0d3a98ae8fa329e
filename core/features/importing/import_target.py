"""What a person says of an import, its outcome, and its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Final, Protocol

from core.base.config import Settings
from core.base.errors import InputError
from core.base.types import Rejected
from core.features.importing.roles import AS_GUESSED, SavedColumns, TableOptions, header_key
from core.runs.workspace import Workspace
from core.store import Cursor, changes, datasets, imports, notes, runs, spaces
from core.store.imports import Import


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Options of an import. name: of the run, or of the dataset for files of pairs; None takes it
    from the file.

    strict: refuse the whole file for one bad row. replace: replace an existing run of that name.
    de, dir: of a file of external scores, the columns that rank rows by an effect and by its
    direction; see `core.features.importing.external_scores`.
    table: what columns are, and which rows count.
    """

    name: str | None = None
    dataset: str | None = None
    strict: bool = False
    replace: bool = False
    de: str | None = None
    dir: str | None = None
    table: TableOptions = AS_GUESSED


DEFAULT_OPTIONS = ImportOptions()


@dataclass(frozen=True, slots=True)
class Imported:
    """The outcome for one file.

    kind is "failed" if nothing was imported and "unknown" for a file in a folder that no reader
    recognises; `message` says why. new is False if the content had been imported already, so that
    nothing changed. organism: of a knowledge pack, "" if its symbols do not tell; None for anything
    else.
    """

    path: str
    kind: str
    name: str | None
    rows: int = 0
    rejected: tuple[Rejected, ...] = ()
    new: bool = True
    message: str = ""
    organism: str | None = None


class ImportedContent(Protocol):
    """The content of a file of any kind."""

    @property
    def kind(self) -> str: ...
    @property
    def sha256(self) -> str: ...


def refuse_empty_import(
    path: str, n_rows: int, rejected: Sequence[Rejected], options: ImportOptions
) -> None:
    """Raise InputError if no row is left, or, under --strict, if one was rejected."""
    first = (
        f"the first, line {rejected[0].line}: {rejected[0].reason}, {rejected[0].detail}"
        if rejected
        else ""
    )
    if options.strict and rejected:
        raise InputError(
            f"{path}: {len(rejected)} rows rejected ({first}); nothing imported, because of"
            " --strict"
        )
    if n_rows == 0:
        raise InputError(f"{path}: no row could be imported ({first or 'the file has no rows'})")


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """The number of rows that a file added, and the rejected rows.

    dataset, run: ids; None for spaces and packs, and without a run.
    """

    rows: int
    rejected: Sequence[Rejected] = ()
    dataset: str | None = None
    run: str | None = None


def folder_of(settings: Settings, kind: str, dataset: str) -> Path:
    """Return where files lie that an import of a kind wrote beside its dataset (id): its undo
    deletes them."""
    return settings.data / kind / dataset


def record_import(
    db: Cursor, settings: Settings, file: ImportedContent, path: str, rows: ImportedRows
) -> str:
    """Record that a file was imported; return the import's id."""
    entry = Import(
        id=file.sha256[:12],
        sha256=file.sha256,
        file=Path(path).name,
        kind=file.kind,
        dataset=rows.dataset,
        run=rows.run,
        rows=rows.rows,
        rejected=len(rows.rejected),
        author=settings.author,
    )
    imports.add(db, entry, rows.rejected)
    return entry.id


def describe_existing(db: Cursor, earlier: Import, path: str) -> Imported:
    """Return the outcome for a file whose content was imported before."""
    if earlier.run:
        name = runs.find(db, earlier.run).name
    elif earlier.dataset:
        name = datasets.find(db, earlier.dataset).name
    else:
        named = {pack.source_file: pack.name for pack in spaces.list_packs(db)}
        named |= {
            space.source_file: space.name for space in spaces.list_all(db) if space.source_file
        }
        name = named[earlier.id]
    rejected = imports.rejected_rows_of(db, earlier)
    message = (
        f"{path}: here already, as {name}; nothing changed. `undo {earlier.id}` takes it out, and"
        " then it can be imported otherwise"
    )
    return Imported(path, earlier.kind, name, earlier.rows, rejected, new=False, message=message)


_PAGE: Final = "import columns"  # of the presets that hold them


def with_saved_columns(workspace: Workspace, options: ImportOptions) -> ImportOptions:
    """Return options with what people said of earlier tables, unless these say which column is
    what.

    Looked up once, before a file is read: a process that reads it within limits has no memory for
    the store besides.
    """
    if options.table.columns or options.table.saved is not None:
        return options
    with workspace.store.read() as db:
        presets = notes.presets_of_page(db, _PAGE)
    saved = {key: SavedColumns(**values) for key, values in presets.items()}
    return replace(options, table=replace(options.table, saved=saved))


def save_columns(
    workspace: Workspace, header: Sequence[str], columns: Mapping[str, str], path: str
) -> None:
    """Keep which column is what, for the next table with the same columns."""
    file = Path(path).name
    saved = SavedColumns(columns, file, f"{date.today():%Y-%m-%d}")
    with workspace.change("save columns", file) as (db, detail):
        notes.save_preset(db, _PAGE, header_key(header), asdict(saved), workspace.settings.author)
        changes.bump(db, "presets")
        detail |= dict(columns)
