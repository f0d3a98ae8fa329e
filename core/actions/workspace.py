"""A workspace: its store, the folders of its runs, and the one way to change it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from core.config import Settings, load_settings
from core.engine.journal import RunFolder
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
            raise ReadOnly(
                f"{action} {subject}: refused, {self.settings.workspace} is open for reading only (PERTURBDESK_READ_ONLY is set)"
            )


def open_workspace(settings: Settings | None = None) -> Workspace:
    """Returns the workspace that the settings (the environment's, by default) point to."""
    return Workspace(settings or load_settings())
