"""Import by path from a page: only from the allowed folders
(`core.features.importing.allowed_paths`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from core.base.errors import InputError, NotFound
from core.features.cells import predictions
from core.features.cells.cell_formats import is_cell_file
from core.features.cells.predictions import PredictionOptions
from core.features.importing import actions as imports
from core.features.importing.actions import OnFile
from core.features.importing.allowed_paths import (
    allowed_folders,
    confine,
    inside,
    recognise_unseen,
    unseen,
)
from core.features.importing.files import expand
from core.features.importing.import_target import Imported, ImportOptions
from core.features.importing.previews import with_saved_columns
from core.features.importing.reader import collector_paused
from core.runs.workspace import Workspace


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


def import_predictions(
    workspace: Workspace,
    text: str,
    real: str | None,
    options: PredictionOptions,
    server_address: str | None,
) -> Imported:
    """Make a run from predicted expression by a path that a visitor typed; real: the path of real
    control cells.

    The error for a refused table does not reveal its content. Raise what `import_path` raises, and
    what `cell_predictions.import_predictions` does.
    """
    workspace.refuse_if_read_only("cells predictions", text)
    roots = allowed_folders(workspace.settings, server_address)
    path = inside(text, roots)
    cells = replace(options.cells, real=None if real is None else inside(real, roots))
    try:
        return predictions.import_predictions(workspace, path, replace(options, cells=cells))
    except NotFound:
        raise
    except InputError as error:
        if is_cell_file(path):
            raise
        raise type(error)(
            unseen(
                path, "no table of predicted changes of this dataset's pairs", "cells predictions"
            )
        ) from None
