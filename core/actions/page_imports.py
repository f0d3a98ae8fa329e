"""Import by path from a page: only from folders allowed at the app's start, and only while it listens to this machine.

A visitor of the page need not have the rights of the app's user; the user of the command line has.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.actions import cell_predictions, imports
from core.actions.cell_predictions import PredictionOptions
from core.actions.files import FileContent, FoundFile, expand, recognise
from core.actions.import_target import Imported, ImportOptions
from core.actions.imports import OnFile
from core.actions.workspace import Workspace
from core.cells.cell_formats import is_cell_file
from core.config import import_folders
from core.datasets.reader import collector_paused
from core.errors import DeskError, InputError, MissingPackage, NotFound, StateError, UnknownFormat
from core.file_io import read_head
from core.system_errors import explain

_VARIABLE = "PERTURBDESK_IMPORT_ROOTS"


def import_path(
    workspace: Workspace, text: str, options: ImportOptions, server_address: str | None, on_file: OnFile = lambda *_: None
) -> list[Imported]:
    """Import a file, or recognised files in a folder, by a path that a visitor typed.

    Links are followed before this check. Files other than tables, packs, bundles and spaces are refused without a word on their
    content. server_address: as in `import_folders`. on_file: as in `imports.import_paths`. Raise InputError outside of the
    allowed folders, StateError if the app listens beyond this machine.
    """
    workspace.refuse_if_read_only("import", text)
    roots = _allowed_folders(workspace, server_address)
    path = _inside(text, roots)
    with collector_paused():
        return imports.import_files(
            workspace, [_confine(file, roots) for file in expand([path])], options, _recognise_unseen, on_file
        )


def check_typed_path(workspace: Workspace, text: str, server_address: str | None) -> Path:
    """Return the path of a file or folder that a visitor typed. Raise InputError and StateError as `import_path`."""
    return _inside(text, _allowed_folders(workspace, server_address))


def import_predictions(
    workspace: Workspace, text: str, real: str | None, options: PredictionOptions, server_address: str | None
) -> Imported:
    """Make a run from predicted expression by a path that a visitor typed; real: the path of real control cells.

    The error for a refused table does not reveal its content. Raise what `import_path` raises, and what
    `cell_predictions.import_predictions` does.
    """
    workspace.refuse_if_read_only("cells predictions", text)
    roots = _allowed_folders(workspace, server_address)
    path = _inside(text, roots)
    cells = replace(options.cells, real=None if real is None else _inside(real, roots))
    try:
        return cell_predictions.import_predictions(workspace, path, replace(options, cells=cells))
    except NotFound:
        raise
    except InputError as error:
        if is_cell_file(path):
            raise
        raise type(error)(_unseen(path, "no table of predicted changes of this dataset's pairs", "cells predictions")) from None


def describe_predictions(
    workspace: Workspace, text: str, real: str | None, options: PredictionOptions, server_address: str | None
) -> list[str]:
    """Return how a file of predictions at a path that a visitor typed is read. Raise as `import_predictions`."""
    workspace.refuse_if_read_only("cells predictions", text)
    roots = _allowed_folders(workspace, server_address)
    path = _inside(text, roots)
    cells = replace(options.cells, real=None if real is None else _inside(real, roots))
    try:
        return cell_predictions.describe_file(path, replace(options, cells=cells))
    except InputError as error:
        if is_cell_file(path):
            raise
        raise type(error)(_unseen(path, "no table of predicted changes", "cells describe --predictions")) from None


def _allowed_folders(workspace: Workspace, server_address: str | None) -> Sequence[Path]:
    roots = import_folders(workspace.settings, server_address)
    if not roots:
        raise StateError("import by path: off, since other machines can reach this app; upload the file")
    return roots


def _inside(text: str, roots: Sequence[Path]) -> Path:
    """Return the path that a person typed. Raise InputError unless it is inside one of the folders."""
    try:
        if "\0" in text:
            raise ValueError(text)
        path = Path(text.strip()).expanduser()
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):  # a name too long, ~nobody, links in a circle
        raise InputError(f"{text[:300]!r}: not the path of a file or folder") from None
    if not _is_below(real, roots):
        allowed = ", ".join(map(str, roots))
        raise InputError(
            f"{text.strip()[:300]}: outside the folders from which pages may import ({allowed}). Upload it, import it with a "
            f"command, or start the app with {_VARIABLE}"
        )
    return path


def _confine(file: FoundFile, roots: Sequence[Path]) -> FoundFile:
    """Return a file of a folder, with a problem if a link leads out of the allowed folders."""
    if file.problem or _is_below(Path(os.path.realpath(file.path)), roots):
        return file
    return file._replace(problem="a link out of the folders from which pages may import")


def _is_below(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def _recognise_unseen(path: Path) -> FileContent:
    """Recognise as `recognise` does, with errors that reveal nothing of the content."""
    if not path.is_dir():
        try:
            read_head(path, 1)
        except OSError as error:
            raise InputError(str(explain(error, path))) from None
    try:
        return recognise(path)
    except MissingPackage:
        raise
    except UnknownFormat:
        raise UnknownFormat(_unseen(path, "its content is not recognised")) from None
    except DeskError:
        raise InputError(_unseen(path, "damaged, unsafe, or not of the expected format")) from None


def _unseen(path: Path, what: str, command: str = "import") -> str:
    return f"{path}: {what}; details are not shown here, but by `perturbdesk {command}` or an upload"
