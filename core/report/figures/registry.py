"""Finds every kind of figure in `core/report/figures`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType

from core.errors import NotFound
from core.report import figures
from core.report.figure_kind import FigureKind
from core.texts import list_choices


def _load_kinds() -> Mapping[str, FigureKind]:
    """Return the `FIGURE` of every module by its name, in the order of a report's sections."""
    modules = (importlib.import_module(f"{figures.__name__}.{module.name}") for module in pkgutil.iter_modules(figures.__path__))
    found = [kind for module in modules if isinstance(kind := getattr(module, "FIGURE", None), FigureKind)]
    return MappingProxyType({kind.name: kind for kind in sorted(found, key=lambda kind: (kind.order, kind.name))})


KINDS: Mapping[str, FigureKind] = _load_kinds()
DEFAULTS = tuple(name for name, kind in KINDS.items() if kind.by_default)  # those that a report shows unless told otherwise


def kind_named(name: str) -> FigureKind:
    """Return the kind of that name. Raise NotFound, which lists the known names."""
    if name not in KINDS:
        raise NotFound(f"figure {name!r}: not known, {list_choices(name, [*KINDS])}")
    return KINDS[name]
