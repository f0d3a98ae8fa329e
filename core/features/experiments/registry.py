"""The kinds of experiments by name: one file each in kinds/ and in ideas/, then those that other features bring."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from core.base.experiment import Kind
from core.errors import NotFound
from core.features import hooks
from core.texts import list_known

_PACKAGES = ("core.features.experiments.kinds", "core.features.experiments.ideas")


@cache
def kinds() -> Mapping[str, Kind]:
    """Return every kind by its name: those of kinds/, those of ideas/, then those of other features."""
    every = (*(kind for package in _PACKAGES for kind in _kinds_of(package)), *hooks("experiments"))
    return MappingProxyType({kind.name: kind for kind in every})


def kind_named(name: str) -> Kind:
    """Return a kind by its name. Raise NotFound with the names that there are."""
    try:
        return kinds()[name]
    except KeyError:
        raise NotFound(f"experiment {name!r}: no such kind, {list_known(name, list(kinds()))}") from None


def _kinds_of(package: str) -> Iterator[Kind]:
    """Import every module of a package, and return the KIND of each that has one."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        kind = getattr(importlib.import_module(f"{package}.{module.name}"), "KIND", None)
        if kind is not None:
            yield kind
