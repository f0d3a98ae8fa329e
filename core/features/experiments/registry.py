"""The kinds of experiments by name: those of the files in kinds/ and in ideas/, then those that
other features bring."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from core.base.experiment import Kind
from core.base.feature import find_named
from core.features import hooks

_PACKAGES = ("core.features.experiments.kinds", "core.features.experiments.ideas")


@cache
def kinds() -> Mapping[str, Kind]:
    """Return every kind by its name: those of kinds/, those of ideas/, then those of other
    features."""
    rooms = map(importlib.import_module, _PACKAGES)
    names = (
        f"{room.__name__}.{found.name}"
        for room in rooms
        for found in pkgutil.iter_modules(room.__path__)
    )
    own = (
        value
        for name in names
        for value in vars(importlib.import_module(name)).values()
        if isinstance(value, Kind)
    )
    return MappingProxyType({kind.name: kind for kind in (*own, *hooks("experiments"))})


def kind_named(name: str) -> Kind:
    """Return a kind by its name. Raise NotFound with the names that there are."""
    return find_named(kinds(), "experiment", name)
