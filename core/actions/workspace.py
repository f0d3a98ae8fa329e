"""A workspace: its store, the folders of its runs, and the one way to change it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from core.config import Settings, load_settings
from core.engine.run_folder import RunFolder
from core.errors import ReadOnly
from core.log import LOGGER
from core.setting_types import EVERYONE
from core.store import Cursor, Store, changes, open_store

Role = Literal["reader", "editor"]


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who signed in."""

    name: str
    email: str
    role: Role

    @property
    def author(self) -> str:
        """The person in the audit log and under notes. The address tells people of one name apart."""
        return f"{self.name} <{self.email}>" if self.name else self.email


def person_of(settings: Settings, email: str, name: str = "") -> Person | None:
    """Returns the person of an e-mail address that was verified; None if the settings name no role for it."""
    address = email.strip().lower()
    if not address:
        return None
    if address in settings.editors:
        return Person(name.strip(), address, "editor")
    if address in settings.readers or EVERYONE in settings.readers:
        return Person(name.strip(), address, "reader")
    return None


@dataclass(frozen=True, slots=True)
class Workspace:
    """A workspace that somebody has open. person: who signed in, None on a machine of one's own. before_use: is called with the
    workspace whenever somebody reaches for the store; it brings a command's store up to date before the first time."""

    settings: Settings
    person: Person | None = None
    before_use: Callable[[Workspace], None] | None = field(default=None, repr=False, compare=False)

    @property
    def store(self) -> Store:
        if self.before_use is not None:
            self.before_use(self)
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
            raise ReadOnly(f"{action} {subject}: refused, {self.settings.workspace} is open for reading only ({self._why()})")

    def _why(self) -> str:
        if not _is_writable(self.settings):
            return "this user cannot write to its disk"
        if self.person is not None and self.person.role == "reader":
            return f"{self.person.email} is signed in as a reader"
        return "PERTURBDESK_READ_ONLY is set"

    def used_by(self, person: Person) -> Workspace:
        """Returns the workspace as a person who signed in may use it: what they change carries their name, and a reader changes
        nothing."""
        read_only = self.settings.read_only or person.role != "editor"
        return Workspace(replace(self.settings, author=person.author, read_only=read_only), person)


def open_workspace(settings: Settings | None = None) -> Workspace:
    """Returns the workspace that the settings (the environment's, by default) point to; open for reading only if its store is
    on a disk that this user cannot write to."""
    settings = settings or load_settings()
    return Workspace(settings if _is_writable(settings) else replace(settings, read_only=True))


def _is_writable(settings: Settings) -> bool:
    """Whether the store can be changed. One that is yet to be made counts: whoever makes it hears why it cannot be."""
    return not settings.data.is_dir() or os.access(settings.data, os.W_OK)
