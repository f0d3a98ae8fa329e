"""What an import would do, and the columns that people said for tables with the same columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Final

from core.base.archives import Content
from core.base.errors import DeskError, UnknownFormat, UnsafeFile
from core.base.file_io import open_file
from core.base.file_limits import MAX_UNPACKED_BYTES
from core.base.records import from_json, to_json
from core.features.importing.files import (
    FileContent,
    FoundFile,
    expand,
    recognise,
    recognise_upload,
)
from core.features.importing.import_target import ImportOptions
from core.features.importing.preview import (
    ColumnPreview,
    Preview,
    is_table,
    preview_columns,
    preview_content,
)
from core.features.importing.reader import collector_paused
from core.features.importing.roles import SavedColumns, header_key
from core.runs.uploads_apart import read_apart
from core.runs.workspace import Workspace
from core.store import changes, notes

__all__ = [
    "ColumnPreview",
    "Preview",
    "preview_paths",
    "preview_upload",
    "save_columns",
    "with_saved_columns",
]

_PAGE: Final = "import columns"  # of the presets that hold them

Columns = tuple[ColumnPreview, ...]


def preview_paths(
    workspace: Workspace, paths: Sequence[Path], options: ImportOptions, *, recursive: bool = False
) -> list[Preview]:
    """Return what an import of files and folders would do; nothing is written. recursive: as of
    `expand`."""
    options = with_saved_columns(workspace, options)
    return [
        _preview_file(workspace, file, options) for file in expand([*paths], recursive=recursive)
    ]


def preview_upload(
    workspace: Workspace, name: str, content: Content, options: ImportOptions
) -> Preview:
    """As `preview_paths`, for an upload; on a shared server by a process of its own."""
    options = with_saved_columns(workspace, options)
    if workspace.settings.is_shared:
        found = read_apart(workspace, "preview", [(name, content)], asdict(options))
        return from_json(Preview, found, "preview of an import")
    read = partial(recognise_upload, content, name, options.table)
    return _preview(
        workspace, name, read, lambda: preview_columns(content, name, options.table), options
    )


def preview_task(
    workspace: Workspace, files: Sequence[tuple[str, bytes]], options: Mapping[str, Any]
) -> Any:
    """Preview an upload in the process that reads it (`core.runs.upload_process`)."""
    [(name, content)] = files
    wanted = from_json(ImportOptions, options, "options of an import")
    return to_json(preview_upload(workspace, name, content, wanted))


def _preview_file(workspace: Workspace, file: FoundFile, options: ImportOptions) -> Preview:
    path, name = file.path, str(file.path)
    if file.problem:
        return Preview(
            name, "failed" if file.chosen else "unknown", message=f"{path}: {file.problem}"
        )

    def columns() -> Columns:
        if not path.is_file():
            return ()
        with open_file(path, MAX_UNPACKED_BYTES) as content:
            return preview_columns(content, path.name, options.table)

    read = partial(recognise, path, options.epochs, options.table)
    return _preview(workspace, name, read, columns, options, is_chosen=file.chosen)


def _preview(
    workspace: Workspace,
    path: str,
    read: Callable[[], FileContent],
    columns: Callable[[], Columns],
    options: ImportOptions,
    *,
    is_chosen: bool = True,
) -> Preview:
    """Return the preview of a file; where it cannot be read, with its columns, so that a person can
    say what they are."""
    try:
        with collector_paused():
            content = read()
    except UnsafeFile as error:
        return Preview(path, "failed", message=str(error))
    except DeskError as error:
        is_unknown = isinstance(error, UnknownFormat) and not is_chosen
        return Preview(
            path, "unknown" if is_unknown else "failed", columns=columns(), message=str(error)
        )
    with workspace.store.read() as db:
        return preview_content(db, content, path, options, columns() if is_table(content) else ())


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
