"""Where the tables of a screen lie, of which a dataset was made."""

from __future__ import annotations

import shutil

from core.base.config import Settings
from core.features.cells.tables import ScreenFolder

KIND = "cells"  # of imports
FOLDER = "cells"  # in the workspace's data


def folder_of(settings: Settings, dataset: str) -> ScreenFolder:
    """Return the folder of a dataset's (id) screen, which is there for datasets that were made of
    cells."""
    return ScreenFolder(settings.data / FOLDER / dataset)


def remove(settings: Settings, dataset: str) -> None:
    """Delete the tables of a dataset (id) that was undone."""
    shutil.rmtree(folder_of(settings, dataset).path, ignore_errors=True)
