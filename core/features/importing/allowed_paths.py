"""Paths that a visitor of a page types: only in folders that whoever starts the app allows, and
only while it listens to this machine.

A visitor of the page need not have the rights of the app's user; the user of the command line has.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from core.base.config import Settings, import_folders
from core.base.errors import DeskError, InputError, MissingPackage, StateError, UnknownFormat
from core.base.file_io import read_head
from core.base.system_errors import explain
from core.features.importing import actions as imports
from core.features.importing.actions import OnFile
from core.features.importing.files import FileContent, FoundFile, expand, recognise
from core.features.importing.import_target import Imported, ImportOptions, with_saved_columns
from core.features.importing.reader import collector_paused
from core.features.importing.roles import AS_GUESSED, TableOptions
from core.runs.workspace import Workspace

_VARIABLE = "PERTURBDESK_IMPORT_ROOTS"


def check_typed_path(settings: Settings, text: str, server_address: str | None) -> Path:
    """Return the path of a file or folder that a visitor typed. Raise InputError outside of the
    allowed folders, StateError if the app listens beyond this machine."""
    return inside(text, allowed_folders(settings, server_address))


def allowed_folders(settings: Settings, server_address: str | None) -> Sequence[Path]:
    """Return the folders that pages may import from; as `import_folders`. Raise StateError if there
    are none."""
    roots = import_folders(settings, server_address)
    if not roots:
        raise StateError(
            "import by path: off, since other machines can reach this app; upload the file"
        )
    return roots


def inside(text: str, roots: Sequence[Path]) -> Path:
    """Return the path that a person typed. Raise InputError unless it is inside one of the
    folders."""
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
            f"{text.strip()[:300]}: outside the folders from which pages may import ({allowed})."
            f" Upload it, import it with a command, or start the app with {_VARIABLE}"
        )
    return path


def confine(file: FoundFile, roots: Sequence[Path]) -> FoundFile:
    """Return a file of a folder, with a problem if a link leads out of the allowed folders."""
    if file.problem or _is_below(Path(os.path.realpath(file.path)), roots):
        return file
    return file._replace(problem="a link out of the folders from which pages may import")


def _is_below(path: Path, roots: Sequence[Path]) -> bool:
    return any(path.is_relative_to(root) for root in roots)


def recognise_unseen(path: Path, options: TableOptions = AS_GUESSED) -> FileContent:
    """Recognise as `recognise` does, with errors that reveal nothing of the content."""
    if not path.is_dir():
        try:
            read_head(path, 1)
        except OSError as error:
            raise InputError(str(explain(error, path))) from None
    try:
        return recognise(path, options=options)
    except MissingPackage:
        raise
    except UnknownFormat:
        raise UnknownFormat(unseen(path, "its content is not recognised")) from None
    except DeskError:
        raise InputError(unseen(path, "damaged, unsafe, or not what it seems to be")) from None


def unseen(path: Path, what: str, command: str = "import") -> str:
    """Return what is said of a file of which nothing is shown."""
    return (
        f"{path}: {what}; details are not shown here, but by `perturbdesk {command}` or an upload"
    )


def import_path(
    workspace: Workspace,
    text: str,
    options: ImportOptions,
    server_address: str | None,
    on_file: OnFile = lambda *_: None,
) -> list[Imported]:
    """Import a file, or recognised files in a folder, by a path that a visitor typed.

    Links are followed before this check. Files other than tables, packs, bundles and spaces are
    refused without a word on their content. server_address: as in `import_folders`. on_file: as in
    `imports.import_paths`. Raise InputError outside of the allowed folders, StateError if the app
    listens beyond this machine.
    """
    workspace.refuse_if_read_only("import", text)
    roots = allowed_folders(workspace.settings, server_address)
    path = inside(text, roots)
    options = with_saved_columns(workspace, options)
    with collector_paused():
        return imports.import_files(
            workspace,
            [confine(file, roots) for file in expand([path])],
            options,
            partial(recognise_unseen, options=options.table),
            on_file,
        )
