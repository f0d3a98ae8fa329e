"""The interface of a baseline, and the list of the baselines in this package. A new one is a file with a `KnowledgeBaseline`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import numpy as np

import core.features.perturbqa.baselines as room
from core.features.perturbqa.baselines.material import Material
from core.stats.arrays import Bools, Floats


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """A baseline's prediction for each row.

    de, up: of shape (n_rows,), NaN for a row without a prediction; up is None if the baseline never predicts a direction. note:
    a remark on how the prediction was made.
    """

    de: Floats
    up: Floats | None
    note: str = ""

    @property
    def covered(self) -> Bools:
        """Flags of the rows with a prediction."""
        return ~np.isnan(self.de)


@dataclass(frozen=True, slots=True)
class KnowledgeBaseline:
    """One baseline.

    about: a description for people. place: its position among the baselines. find_lacking: describes missing inputs, "" for
    none; make: makes the prediction.
    """

    name: str
    about: str
    place: int
    find_lacking: Callable[[Material], str]
    make: Callable[[Material], Prediction]


@cache
def knowledge_baselines() -> Mapping[str, KnowledgeBaseline]:
    """Return the baselines by name, ordered by place."""
    modules = (importlib.import_module(f"{room.__name__}.{found.name}") for found in pkgutil.iter_modules(room.__path__))
    found = [each for module in modules for each in vars(module).values() if isinstance(each, KnowledgeBaseline)]
    return MappingProxyType({each.name: each for each in sorted(found, key=lambda each: each.place)})
