"""The features: what the product does, one folder each. A folder holds `feature.py` with its
FEATURE, and is named here.

Features of installed packages are found by the entry point `perturbdesk.features`. Features import
the kernel, never each other; the kernel imports none. It asks here for what features bring
(`core.base.feature.Feature`), and imports it when it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import entry_points
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import Any

from core.base.feature import Feature, Reference, resolve

NAMES = (  # the order of pages in a group, of commands under a heading
    "demo",
    "importing",
    "reading",
    "arguments",
    "scores",
    "predicting",
    "fuse",
    "neighbours",
    "asking",
    "sharing",
    "experiments",
    "leakage",
    "submissions",
    "cells",
    "targets",
    "finetune",
    "perturbqa",
    "published",
    "server",
)
ENTRY_POINT = "perturbdesk.features"


@cache
def features() -> Mapping[str, Feature]:
    """Return every feature by name: those of this folder, then those of installed packages."""
    own = [resolve(f"core.features.{name}.feature:FEATURE") for name in NAMES]
    installed = [entry.load() for entry in entry_points(group=ENTRY_POINT)]
    return MappingProxyType({feature.name: feature for feature in (*own, *installed)})


def references(name: str) -> tuple[Reference, ...]:
    """Return what every feature brings under a hook, such as "report_parts", in their order,
    without importing it."""
    return tuple(chain.from_iterable(map(attrgetter(name), features().values())))


def hooks(name: str) -> Iterator[Any]:
    """Import and return what every feature brings under a hook, in their order."""
    return map(resolve, references(name))
