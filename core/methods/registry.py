"""Every method of this room. A new file with a `METHOD` is in without being listed anywhere."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

import core.methods as room
from core.errors import NotFound
from core.methods.base import Method


@cache
def methods() -> Mapping[str, Method]:
    """The methods by name."""
    modules = (importlib.import_module(f"{room.__name__}.{found.name}") for found in pkgutil.iter_modules(room.__path__))
    found = (getattr(module, "METHOD", None) for module in modules)
    return MappingProxyType({method.name: method for method in found if method is not None})


def method_named(name: str) -> Method:
    """The method of a name; raises NotFound, naming those there are."""
    known = methods()
    if name not in known:
        raise NotFound(f"method {name!r}: not known, expected one of {', '.join(known)}")
    return known[name]
