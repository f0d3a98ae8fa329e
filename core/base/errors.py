"""Every error a person can meet, as one tree.

DeskError                   anything below: what, where, got, expected, in one line
├── InputError              a file, an argument or a link is wrong
│   ├── SettingError        a setting has a value that it may not have; carries the setting's name
│   ├── UnknownFormat       a file whose content no reader recognises
│   ├── UnsafeFile          an archive that tries to escape, to explode, or is not what it says
│   ├── NotFound            a name or id that this workspace does not have
│   ├── NothingCovered      a run or a gene space that says nothing of any of the rows
│   └── AddressRefused      a server that a shared server may not ask, since nobody listed it
├── StateError              the request is fine, but not in this state (a name is taken, rows still
depend on it) │   └── ReadOnly            the workspace is open for reading only
├── StoreError              the database file
│   ├── StoreBusy           somebody else has held it for longer than the timeout
│   ├── StoreDamaged        truncated, or not a PerturbDesk store
│   └── StoreOtherSchema    written by another version
├── SystemFailure           the operating system refuses: a path, a permission, memory (made by
core.base.system_errors) │   └── DiskFull            no space is left
├── Unreachable             a public source did not answer
│   └── WrongContent        it answered, but not with the pinned bytes
└── MissingPackage          an optional package; names the requirements file that brings it
"""

from __future__ import annotations

import importlib
from typing import Any


class DeskError(Exception):
    """Base of all errors that pages show and the command line prints without a traceback."""


class InputError(DeskError):
    """What was given is wrong; nothing was changed."""


class SettingError(InputError):
    """A setting has a value that it may not have. name: the setting's; problem: what was got, and
    what is expected."""

    def __init__(self, name: str, problem: str) -> None:
        super().__init__(name, problem)
        self.name, self.problem = name, problem

    def __str__(self) -> str:
        return f"{self.name}: {self.problem}"


class UnknownFormat(InputError):
    """No reader recognises the content of a file."""


class UnsafeFile(InputError):
    """An archive with absolute or parent paths, or that unpacks to more than it may; a file that
    holds more than its size."""


class NotFound(InputError):
    """No dataset, run, row or import of that name or id."""


class NothingCovered(InputError):
    """A run, or the gene spaces that it is made of, covers none of the rows that it is asked for.
    No file is wrong."""


class AddressRefused(InputError):
    """A model server or cluster that is not listed in the settings of a shared server; it was not
    asked."""


class StateError(DeskError):
    """The request cannot be met in the workspace's present state; nothing was changed."""


class ReadOnly(StateError):
    """A change was asked for while the workspace is read-only."""


class StoreError(DeskError):
    """The database file cannot be used."""


class StoreBusy(StoreError):
    """The store stayed locked by another process for longer than the timeout."""


class StoreDamaged(StoreError):
    """The file is truncated, or was not made by PerturbDesk; it is left as it is."""


class StoreOtherSchema(StoreError):
    """The store has the tables of another version of PerturbDesk; it is left as it is."""


class SystemFailure(DeskError):
    """The operating system refused what was asked; the message says what to do."""


class StoreMemoryShort(SystemFailure):
    """The store needs more memory than it may have."""


class DiskFull(SystemFailure):
    """No space is left; the message says how much is free, and where."""


class Unreachable(DeskError):
    """A public source could not be reached."""


class WrongContent(Unreachable):
    """A public source answered with other bytes than the pinned ones."""


class MissingPackage(DeskError):
    """An optional package is not installed; the message names the requirements file that brings
    it."""


MODELS = "requirements-models.txt"


def require_package(module: str, purpose: str, requirements: str = MODELS) -> Any:
    """Return a module. Raise MissingPackage, which names the requirements file that brings it, if
    it is not installed.

    purpose: what needs it, such as "a sentence encoder".
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackage(
            f"{purpose} needs the package {package}, which is not installed: pip install -r"
            f" {requirements}"
        ) from error
