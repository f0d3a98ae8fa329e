"""A workspace: its store, the folders of its runs, and the one way to change it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from core.base.config import EVERYONE, Settings, fold_address, load_settings
from core.base.errors import ReadOnly
from core.base.log import LOGGER
from core.base.types import JsonObject
from core.store import Cursor, Store, changes, kept_results, open_store

if TYPE_CHECKING:
    from core.runs.run_folder import RunFolder

Role = Literal["reader", "editor"]


@dataclass(frozen=True, slots=True)
class Person:
    """A person who signed in."""

    name: str
    email: str
    role: Role

    @property
    def author(self) -> str:
        """The person in the audit log and under notes. The address tells people of one name
        apart."""
        return f"{self.name} <{self.email}>" if self.name else self.email


def person_of(settings: Settings, email: str, name: str = "") -> Person | None:
    """Return the person of an e-mail address that was verified; None if the settings name no role
    for it."""
    address = fold_address(email)
    if not address:
        return None
    # signs that nobody sees could draw another's address behind a name
    name = "".join(filter(str.isprintable, name)).strip()
    if address in settings.editors:
        return Person(name, address, "editor")
    if address in settings.readers or EVERYONE in settings.readers:
        return Person(name, address, "reader")
    return None


@dataclass(frozen=True, slots=True)
class Workspace:
    """An open workspace. person: who signed in, None on the user's own machine.

    look_up: returns that person's present role, None without one, since roles may be removed while
    a page is open. closed_because: why every change is refused, if neither the settings nor a role
    do so. before_use: called with the workspace before each use of the store; it updates a
    command's store before the first use. remark: says what an action chose by itself.
    """

    settings: Settings
    person: Person | None = None
    look_up: Callable[[], Person | None] | None = field(default=None, repr=False, compare=False)
    closed_because: str = ""
    before_use: Callable[[Workspace], None] | None = field(default=None, repr=False, compare=False)
    remark: Callable[[str], object] | None = field(default=None, repr=False, compare=False)

    @property
    def store(self) -> Store:
        if self.before_use is not None:
            self.before_use(self)
        return open_store(self.settings)

    def run_folder(self, run: str) -> RunFolder:
        """Return the folder of the run with this id, which its worker writes to."""
        from core.runs.run_folder import folder_of_run  # brings what workers need

        return folder_of_run(self.settings, run)

    @contextmanager
    def change(self, action: str, subject: str) -> Iterator[tuple[Cursor, JsonObject]]:
        """Open a write transaction that ends with a line in the audit log; the mapping becomes that
        line's detail.

        Raise ReadOnly, before anything is touched, if the workspace is open for reading only.
        """
        self.refuse_if_read_only(action, subject)
        with self.store.write() as cursor:
            detail: JsonObject = {}
            yield cursor, detail
            position = changes.record(cursor, self.settings.author, action, subject, detail)
        LOGGER.info("%s %s (audit log: entry %d)", action, subject, position)

    def keep(self, name: str, results: Sequence[tuple[str, str, str]]) -> None:
        """Keep results (see `core.store.kept_results.put`). They follow from what the store holds,
        so the audit log has no line of them; in a workspace for reading they are not kept."""
        if results and not self._why_closed():
            with self.store.write() as cursor:
                kept_results.put(cursor, name, results)

    def refuse_if_read_only(self, action: str, subject: str) -> None:
        """Raise ReadOnly in read-only mode, and for a person who may change nothing now; for
        actions that do something before they write: wait, start a process, or ask a server."""
        if why := self._why_closed():
            raise ReadOnly(
                f"{action} {subject}: refused, {self.settings.workspace} is open for reading only"
                f" ({why})"
            )

    def _why_closed(self) -> str:
        """Return why nothing may be changed here; "" if it may."""
        if self.closed_because or self.settings.read_only:
            return self.closed_because or self._why()
        if self.person is None or self.look_up is None:
            return ""
        now = self.look_up()
        return (
            ""
            if now is not None and now.role == "editor"
            else f"{self.person.email} is no longer an editor"
        )

    def _why(self) -> str:
        if not _is_writable(self.settings):
            return "this user cannot write to its disk"
        if self.person is not None and self.person.role == "reader":
            return f"{self.person.email} is signed in as a reader"
        return "PERTURBDESK_READ_ONLY is set"

    def for_person(
        self, person: Person, look_up: Callable[[], Person | None] | None = None
    ) -> Workspace:
        """Return the workspace for a person who signed in: changes are recorded under their name,
        and a reader cannot make any.

        look_up: as in the class.
        """
        settings = replace(
            self.settings,
            author=person.author,
            read_only=self.settings.read_only or person.role != "editor",
        )
        return Workspace(
            _without_keys(settings) if settings.read_only else settings, person, look_up
        )

    def for_reading(self, because: str) -> Workspace:
        """Return the workspace for one who only reads: it refuses every change, and asks no server
        with a key."""
        return replace(
            self,
            settings=_without_keys(replace(self.settings, read_only=True)),
            closed_because=because,
        )


def _without_keys(settings: Settings) -> Settings:
    return replace(settings, api_key="", api_keys=(), ncbi_api_key="")


def open_workspace(settings: Settings | None = None) -> Workspace:
    """Return the workspace that the settings (the environment's, by default) point to; open for
    reading only if its store is on a disk that this user cannot write to."""
    settings = settings or load_settings()
    return Workspace(settings if _is_writable(settings) else replace(settings, read_only=True))


def _is_writable(settings: Settings) -> bool:
    """Return whether the store can be changed. A missing store counts as writable: creating it
    reports errors."""
    return not settings.data.is_dir() or os.access(settings.data, os.W_OK)
