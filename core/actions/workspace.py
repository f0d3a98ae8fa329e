"""A workspace: its store, the folders of its runs, and the one way to change it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from core.config import Settings, load_settings
from core.engine.run_folder import RunFolder
from core.errors import ReadOnly
from core.log import LOGGER
from core.store import Cursor, Store, changes, open_store


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace that somebody has open."""

    settings: Settings

    @property
    def store(self) -> Store:
        return open_store(self.settings)

    def run_folder(self, run: str) -> RunFolder:
        """Returns the folder of the run with this id, which its worker writes to."""
        return RunFolder(self.settings.data / "runs" / run)

    @contextmanager
    def change(self, action: str, subject: str) -> Iterator[tuple[Cursor, dict[str, Any]]]:
        """Opens a write transaction that ends with a line in the audit log; the mapping becomes that line's detail.

        Raises ReadOnly, before anything is touched, if the workspace is open for reading only.
        """
        self.refuse_if_read_only(action, subject)
        with self.store.write() as cursor:
            detail: dict[str, Any] = {}
            yield cursor, detail
            changes.record(cursor, self.settings.author, action, subject, detail)
        LOGGER.info("%s %s", action, subject)

    def refuse_if_read_only(self, action: str, subject: str) -> None:
        """Raises ReadOnly in read-only mode; for actions that do something lengthy before they write."""
        if self.settings.read_only:
            why = "PERTURBDESK_READ_ONLY is set" if _is_writable(self.settings) else "this user cannot write to its disk"
            raise ReadOnly(f"{action} {subject}: refused, {self.settings.workspace} is open for reading only ({why})")


def open_workspace(settings: Settings | None = None) -> Workspace:
    """Returns the workspace that the settings (the environment's, by default) point to; open for reading only if its store is
    on a disk that this user cannot write to."""
    settings = settings or load_settings()
    return Workspace(settings if _is_writable(settings) else replace(settings, read_only=True))


def _is_writable(settings: Settings) -> bool:
    """Whether the store can be changed. One that is yet to be made counts: whoever makes it hears why it cannot be."""
    return not settings.data.is_dir() or os.access(settings.data, os.W_OK)
