"""What an import of a file would do, before anything is written: what each column is taken for,
what is not used, and what the file becomes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from core.base.archives import Content
from core.base.errors import DeskError, InputError, UnknownFormat, UnsafeFile
from core.base.file_io import open_file
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.base.records import from_json, to_json
from core.base.tables import Table, table_of
from core.base.texts import shorten
from core.features.importing.dataset_choice import choose_dataset
from core.features.importing.external_scores import ScoreTable, choose_columns
from core.features.importing.files import (
    BundleFile,
    FileContent,
    FoundFile,
    PackFile,
    SpaceFile,
    expand,
    recognise,
    saved_upload,
)
from core.features.importing.import_target import (
    ImportOptions,
    describe_existing,
    with_saved_columns,
)
from core.features.importing.imported_runs import dataset_of_rows, known_rows, rows_of, run_name
from core.features.importing.pairs import PairTable, TableRows
from core.features.importing.reader import KEYS, LABELS, collector_paused
from core.features.importing.roles import (
    ROLES,
    TableOptions,
    choose_roles,
    named_columns,
)
from core.features.importing.submissions import SubmissionTable
from core.runs.uploads_apart import read_apart
from core.runs.workspace import Workspace
from core.store import Cursor, imports

_MOST_VALUES: Final = 3  # of a column that are shown
_MOST_COLUMNS: Final = 100
_LONGEST_VALUE: Final = 40  # characters


@dataclass(frozen=True, slots=True)
class ColumnPreview:
    """A column of a table. role: as in `core.features.importing.roles`, "score" of external scores,
    "" if it is not used.

    guessed: whether nobody said so. first: its first values.
    """

    name: str
    role: str
    guessed: bool
    first: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What an import of a file would do. sentence: what it is taken for, and what it becomes, in
    words.

    kind: as of `Imported`. name: the dataset. new: whether anything would be written. message: why
    nothing can be imported. columns: of a table.
    """

    path: str
    kind: str
    sentence: str = ""
    name: str | None = None
    new: bool = True
    organism: str = ""
    rows: int = 0
    rejected: int = 0
    columns: tuple[ColumnPreview, ...] = ()
    notes: tuple[str, ...] = ()
    message: str = ""

    @property
    def fails(self) -> bool:
        return bool(self.message) and self.kind != "unknown"

    def lines(self) -> list[dict[str, Any]]:
        """Return a line for each column: what it is, its name, and its first values."""
        return [
            {"role": c.role or "not used", "column": c.name, "first values": ", ".join(c.first)}
            for c in self.columns
        ]


def preview_columns(path: Path, options: TableOptions) -> tuple[ColumnPreview, ...]:
    """Return the columns of a file that may be a table; () for any other file."""
    if not path.is_file():
        return ()
    try:
        with open_file(path, MAX_UNPACKED_BYTES) as content:
            table = table_of(content, path.name)
            header, rows = table.header, table.sample()[:_MOST_VALUES]
        named = named_columns(table, options)
        roles = _roles_of(table, named)
    except InputError:
        return ()
    role_of = {column: role for role, column in roles.items()}
    return tuple(
        ColumnPreview(
            column,
            role_of.get(column, ""),
            column not in named.values(),
            tuple(shorten(row[i].strip(), _LONGEST_VALUE) for row in rows),
        )
        for i, column in enumerate(header[:_MOST_COLUMNS])
    )


def _roles_of(table: Table, named: Mapping[str, str]) -> Mapping[str, str]:
    """Return the role of each column; where they cannot all be told, those that a person named."""
    try:
        return choose_roles(table, named).of
    except InputError:
        return {role: column for role, column in named.items() if column in table.header}


def preview_content(
    db: Cursor,
    content: FileContent,
    path: str,
    options: ImportOptions,
    columns: Sequence[ColumnPreview],
) -> Preview:
    """Return the preview of a file that was read. columns: of `preview_columns`."""
    notes = (
        content.notes
        if isinstance(content, TableRows)
        else content.space.notes
        if isinstance(content, SpaceFile)
        else ()
    )
    preview = Preview(
        path,
        content.kind,
        rejected=len(content.rejected),
        columns=tuple(_as_used(content, column) for column in columns) if is_table(content) else (),
        notes=tuple(notes),
    )
    earlier = None if isinstance(content, ScoreTable) else imports.by_content(db, content.sha256)
    try:
        if earlier is None:
            return _plan(db, content, path, options, preview)
        here = describe_existing(db, earlier, path)
        return replace(preview, sentence=here.message, name=here.name, rows=here.rows, new=False)
    except DeskError as error:
        return replace(preview, message=str(error))


def is_table(content: FileContent) -> bool:
    """Return whether a file was read as a table of rows about pairs."""
    return isinstance(content, PairTable | SubmissionTable | ScoreTable)


def _as_used(content: FileContent, column: ColumnPreview) -> ColumnPreview:
    """Return a column with the role that the reader of its table gives it."""
    if isinstance(content, ScoreTable) and column.name in content.columns:
        return replace(column, role="score")
    roles = (
        LABELS
        if isinstance(content, PairTable)
        else KEYS
        if isinstance(content, ScoreTable)
        else ROLES
    )
    return column if column.role in roles else replace(column, role="")


def _plan(
    db: Cursor, content: FileContent, path: str, options: ImportOptions, preview: Preview
) -> Preview:
    """Add what a file becomes. Raise DeskError as its import would."""
    if isinstance(content, PairTable):
        choice = choose_dataset(db, content, path, options)
        n = len(content.pairs)
        what = (
            f"{_pairs(n)} without labels"
            if content.kind == "challenge_test"
            else f"labels of {_pairs(n)}"
        )
        return replace(
            preview,
            sentence=f"{what} → {choice.describe()}",
            name=choice.dataset.name,
            organism=choice.dataset.organism,
            rows=n,
            notes=(*filter(None, [choice.reason]), *preview.notes),
        )
    if isinstance(content, ScoreTable):
        runs = [
            f"{Path(path).stem} {columns.name}"
            for columns in choose_columns(content, options.de, options.dir)
        ]
        return _plan_run(
            db,
            pa.chunked_array([content.ids], pa.string()),
            content.lines,
            path,
            options,
            preview,
            f"external scores → run {', '.join(runs)}",
        )
    if isinstance(content, SubmissionTable):
        name = options.name or run_name(content, path)
        what = (
            "an empty form" if content.kind == "sample_submission" else f"predictions → run {name}"
        )
        return _plan_run(db, rows_of(content).pair_ids, content.lines, path, options, preview, what)
    if isinstance(content, BundleFile):
        return replace(preview, sentence="a run with all its parts")
    if isinstance(content, PackFile):
        n, what = len(content.pack), f"knowledge about genes ({content.kind.replace('_', ' ')})"
    else:
        n, what = len(content.space.symbols), "a gene space"
    return replace(preview, sentence=f"{what}, {n:,} entries", rows=n)


def _plan_run(
    db: Cursor,
    ids: pa.ChunkedArray,
    lines: Sequence[int],
    path: str,
    options: ImportOptions,
    preview: Preview,
    what: str,
) -> Preview:
    """Add how many rows of predictions a dataset has."""
    dataset = dataset_of_rows(db, ids, path, options)
    keep, unknown = known_rows(db, dataset, ids, lines, path)
    n_rows, rejected = int(keep.sum()), preview.rejected + len(unknown)
    return replace(
        preview,
        sentence=f"{what}, for {_pairs(n_rows)} of dataset {dataset.name}",
        name=dataset.name,
        organism=dataset.organism,
        rows=n_rows,
        rejected=rejected,
    )


def _pairs(n: int) -> str:
    return f"{n:,} pair{'s' * (n != 1)}"


__all__ = [
    "ColumnPreview",
    "Preview",
    "preview_paths",
    "preview_upload",
]


def preview_paths(
    workspace: Workspace, paths: Sequence[Path], options: ImportOptions, *, recursive: bool = False
) -> list[Preview]:
    """Return what an import of files and folders would do; nothing is written. recursive: as of
    `expand`."""
    options = with_saved_columns(workspace, options)
    files = expand([*paths], recursive=recursive)
    return [_preview(workspace, file, str(file.path), options) for file in files]


def preview_upload(
    workspace: Workspace, name: str, content: Content, options: ImportOptions
) -> Preview:
    """As `preview_paths`, for an upload; on a shared server by a process of its own."""
    options = with_saved_columns(workspace, options)
    if workspace.settings.is_shared:
        found = read_apart(workspace, "preview", [(name, content)], asdict(options))
        return from_json(Preview, found, "preview of an import")
    with saved_upload(content, name) as path:
        return _preview(workspace, FoundFile(path, chosen=True), name, options)


def preview_task(
    workspace: Workspace, files: Sequence[tuple[str, bytes]], options: Mapping[str, Any]
) -> Any:
    """Preview an upload in the process that reads it (`core.runs.upload_process`)."""
    [(name, content)] = files
    wanted = from_json(ImportOptions, options, "options of an import")
    return to_json(preview_upload(workspace, name, content, wanted))


def _preview(workspace: Workspace, file: FoundFile, name: str, options: ImportOptions) -> Preview:
    """Return the preview of a file; where it cannot be read, with its columns, so that a person can
    say what they are."""
    nothing = Preview(name, "failed" if file.chosen else "unknown")
    if file.problem:
        return replace(nothing, message=f"{file.path}: {file.problem}")
    try:
        with collector_paused():
            content = recognise(file.path, options.table)
    except UnsafeFile as error:
        return Preview(name, "failed", message=str(error))
    except DeskError as error:
        columns = preview_columns(file.path, options.table)
        kind = nothing.kind if isinstance(error, UnknownFormat) else "failed"
        return Preview(name, kind, columns=columns, message=str(error))
    columns = preview_columns(file.path, options.table) if is_table(content) else ()
    with workspace.store.read() as db:
        return preview_content(db, content, name, options, columns)
