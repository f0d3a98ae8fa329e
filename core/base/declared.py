"""What the files of a package declare, such as a METHOD: a new file is in without being listed
anywhere."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import ModuleType
from typing import Any, TypeVar

from core.base.errors import NotFound
from core.base.texts import list_choices

Part = TypeVar("Part")


def declared_in(package: ModuleType, name: str) -> list[Any]:
    """Import every file of a package, and return what they declare under a name, in the order of
    the files."""
    files = (
        importlib.import_module(f"{package.__name__}.{file.name}")
        for file in pkgutil.iter_modules(package.__path__)
    )
    return [getattr(file, name) for file in files if hasattr(file, name)]


def find_named(parts: Mapping[str, Part], what: str, name: str) -> Part:
    """Return the part with this name. Raise NotFound, with the known names, if there is none."""
    if name not in parts:
        raise NotFound(f"{what} {name!r}: not known, {list_choices(name, [*parts])}")
    return parts[name]
