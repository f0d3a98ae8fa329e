"""Finds every kind of figure in `core/report/figures`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from core.base.declared import declared_in, find_named
from core.features import hooks
from core.features.sharing.report import figures
from core.features.sharing.report.figure_kind import FigureKind


def _load_kinds() -> Mapping[str, FigureKind]:
    """Return the `FIGURE` of every module by its name, in the order of a report's sections."""
    found: list[FigureKind] = [*declared_in(figures, "FIGURE"), *hooks("figures")]
    return MappingProxyType(
        {kind.name: kind for kind in sorted(found, key=lambda kind: (kind.order, kind.name))}
    )


KINDS: Mapping[str, FigureKind] = _load_kinds()
# those that a report shows unless told otherwise
DEFAULTS = tuple(name for name, kind in KINDS.items() if kind.by_default)


def kind_named(name: str) -> FigureKind:
    """Return the kind of that name. Raise NotFound, which lists the known names."""
    return find_named(KINDS, "figure", name)
