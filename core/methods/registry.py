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
    """Returns the methods by name, sorted. Imports every file of this room."""
    found = (_import_method(module) for module in _list_modules())
    return MappingProxyType({method.name: method for method in found if method is not None})


def method_named(name: str) -> Method:
    """Returns the method of a name, from the file of that name alone if there is one.

    Raises NotFound, with the known names, if there is no such method.
    """
    method = _import_method(name) if name in _list_modules() else None
    if method is not None and method.name == name:
        return method
    if name not in methods():
        raise NotFound(f"method {name!r}: not known, expected one of {', '.join(methods())}")
    return methods()[name]


def _list_modules() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(room.__path__)]


def _import_method(module: str) -> Method | None:
    """Returns the method in a file of this room; None without one."""
    method: Method | None = getattr(importlib.import_module(f"{room.__name__}.{module}"), "METHOD", None)
    return method
