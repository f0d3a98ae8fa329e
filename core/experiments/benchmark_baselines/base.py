"""What a baseline is, and the list of the baselines of this room: a new one is a file with a `KnowledgeBaseline`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np

import core.experiments.benchmark_baselines as room
from core.experiments.benchmark_baselines.material import Material
from core.stats.arrays import Bools, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What a baseline says of each row to predict.

    de, up: of shape (n_rows,), NaN for a row that it can say nothing about; up is None if it never says a direction. note: what
    to know of how it came about.
    """

    de: Floats
    up: Floats | None
    note: str = ""

    @property
    def covered(self) -> Bools:
        """Which rows it says something about."""
        return ~np.isnan(self.de)


@dataclass(frozen=True, slots=True)
class KnowledgeBaseline:
    """One baseline.

    about: what it does, for people. place: its position among the others. find_lacking: what is not there of what it needs, in
    words, "" for nothing; make: its prediction.
    """

    name: str
    about: str
    place: int
    find_lacking: Callable[[Material], str]
    make: Callable[[Material], Prediction]


@cache
def knowledge_baselines() -> Mapping[str, KnowledgeBaseline]:
    """Return the baselines by name, by their places."""
    modules = (importlib.import_module(f"{room.__name__}.{found.name}") for found in pkgutil.iter_modules(room.__path__))
    found = [each for module in modules for each in vars(module).values() if isinstance(each, KnowledgeBaseline)]
    return MappingProxyType({each.name: each for each in sorted(found, key=lambda each: each.place)})
