"""The settings of a kNN as plain data, as run specifications, links and command lines hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from core.errors import InputError
from core.stats.arrays import Codes
from core.transfer.knn import Weighting
from core.transfer.labelled_rows import Axis
from core.transfer.protocols import EvaluationProtocol, Kind, SimilaritySettings
from core.transfer.row_index import RowIndex


@dataclass(frozen=True, slots=True)
class KnnSettings:
    """The spaces (by name), the protocol, and how similarities become priors."""

    spaces: tuple[str, ...]
    protocol: EvaluationProtocol = field(default_factory=EvaluationProtocol)
    similarity: SimilaritySettings = field(default_factory=SimilaritySettings)

    def __post_init__(self) -> None:
        if not self.spaces or len(set(self.spaces)) < len(self.spaces):
            raise InputError(f"spaces: got {', '.join(self.spaces) or 'none'}; expected one or more, each once")
        _check_choice("protocol", self.protocol.kind, get_args(Kind))
        _check_choice("axis", self.similarity.weighting.axis, get_args(Axis))

    def as_spec(self) -> dict[str, Any]:
        """Plain values, from which `read_knn_settings` builds the settings again."""
        weighting, protocol = self.similarity.weighting, self.protocol
        folds = {"folds": protocol.k, "seed": protocol.seed} if protocol.kind == "folds" else {}
        return {
            "spaces": list(self.spaces),
            "protocol": protocol.kind,
            **folds,
            "power": weighting.power,
            "de_power": weighting.de_power,
            "k": weighting.k,
            "axis": weighting.axis,
            "centre": self.similarity.centre,
            "strength": self.similarity.strength,
        }

    def describe(self) -> str:
        """The settings in one line of words."""
        weighting, protocol = self.similarity.weighting, self.protocol
        parts = [
            " + ".join(self.spaces) + (", centred" if self.similarity.centre else ""),
            {"gene": "by target gene", "pert": "by perturbation", "both": "by perturbation and target gene"}[weighting.axis],
            f"power {weighting.power:g}" + (f" (DE {weighting.de_power:g})" if weighting.de_power is not None else ""),
            *([f"{weighting.k} nearest"] if weighting.k else []),
            *([f"support strength {self.similarity.strength:g}"] if self.similarity.strength else []),
            {
                "test": "all labelled rows known",
                "loo": "leave-one-out",
                "folds": f"{protocol.k}×{protocol.k} folds, seed {protocol.seed}",
            }[protocol.kind],
        ]
        return " · ".join(parts)


def rows_to_predict(index: RowIndex, protocol: EvaluationProtocol) -> Codes:
    """Returns the positions of the labelled training rows under folds and loo, of all other rows under the protocol test.

    Raises InputError for a dataset without such rows, or without labelled rows to learn from.
    """
    test = protocol.kind == "test"
    rows = np.setdiff1d(np.arange(len(index.pair_ids)), index.known_positions) if test else index.known_positions
    if not len(rows) or not len(index.known):
        lacking = "rows to predict beside labelled training rows" if test and len(index.known) else "labelled rows to learn from"
        raise InputError(f"knn under {protocol.kind}: this dataset has no {lacking}")
    return rows


def read_knn_settings(spec: Mapping[str, Any]) -> KnnSettings:
    """The settings in a run's specification, or in its options.

    spaces may be a text with commas; 0 for k or de_power means none. Raises InputError for impossible settings.
    """
    given = spec.get("options", spec)
    spaces = given["spaces"].split(",") if isinstance(given["spaces"], str) else given["spaces"]
    protocol = EvaluationProtocol(given["protocol"], given.get("folds", 5), given.get("seed", 0))
    weighting = Weighting(given["power"], given["de_power"] or None, given["k"] or None, given["axis"])
    names = tuple(name.strip() for name in spaces if name.strip())
    return KnnSettings(names, protocol, SimilaritySettings(weighting, given["centre"], given["strength"]))


def _check_choice(name: str, value: str, expected: tuple[str, ...]) -> None:
    if value not in expected:
        raise InputError(f"{name}: got {value!r}; expected {', '.join(expected)}")
