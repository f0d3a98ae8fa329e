"""The interface of a baseline. A new one is a file with a `KnowledgeBaseline`, named in `table.BASELINES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

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

    about: a description for people. make: returns the prediction, and raises MissingInput or MissingPackage for what it lacks.
    """

    name: str
    about: str
    make: Callable[[Material], Prediction]
