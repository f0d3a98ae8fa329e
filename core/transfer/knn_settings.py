"""The settings of a kNN as plain data for run specifications, links and command lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np

from core.base.errors import InputError, SettingError
from core.base.fields.record import make, options_of, values_of
from core.base.fields.setting import setting
from core.stats.arrays import Codes
from core.transfer.protocols import EvaluationProtocol, SimilaritySettings
from core.transfer.row_index import RowIndex


@dataclass(frozen=True, slots=True)
class KnnSettings:
    """The spaces (by name), the protocol, and the similarity settings."""

    spaces: Annotated[
        tuple[str, ...],
        setting(
            "Embeddings in which genes are compared; several are averaged if they cover both"
            " genes.",
            title="Gene spaces",
            names="spaces",
            option="--space",
            metavar="S[,S2]",
            key="space",
        ),
    ] = ()
    protocol: EvaluationProtocol = field(default_factory=EvaluationProtocol)
    similarity: SimilaritySettings = field(default_factory=SimilaritySettings)

    def __post_init__(self) -> None:
        if not self.spaces or len(set(self.spaces)) < len(self.spaces):
            raise SettingError(
                "spaces", f"got {', '.join(self.spaces) or 'none'}; expected one or more, each once"
            )

    def as_spec(self) -> dict[str, Any]:
        """Return plain values. `read_knn_settings` builds the settings from them again."""
        left_out = () if self.protocol.kind == "folds" else ("folds", "seed")
        values = {name: value for name, value in values_of(self).items() if name not in left_out}
        return values | {"spaces": list(self.spaces)}

    def describe(self) -> str:
        """Return the settings as one line of text."""
        weighting, protocol = self.similarity.weighting, self.protocol
        parts = [
            " + ".join(self.spaces) + (", centred" if self.similarity.centre else ""),
            {
                "gene": "by target gene",
                "pert": "by perturbation",
                "both": "by perturbation and target gene",
            }[weighting.axis],
            f"power {weighting.power:g}"
            + (f" (DE {weighting.de_power:g})" if weighting.de_power is not None else ""),
            *([f"{weighting.k} nearest"] if weighting.k else []),
            *(
                [f"support strength {self.similarity.strength:g}"]
                if self.similarity.strength
                else []
            ),
            {
                "test": "all labelled rows known",
                "loo": "leave-one-out",
                "folds": f"{protocol.k}×{protocol.k} folds, seed {protocol.seed}",
            }[protocol.kind],
        ]
        return " · ".join(parts)


def rows_to_predict(index: RowIndex, protocol: EvaluationProtocol) -> Codes:
    """Return the positions of the rows to predict: labelled training rows under folds and loo, all
    other rows under test.

    Raise InputError for a dataset without such rows, or without labelled rows to learn from.
    """
    test = protocol.kind == "test"
    rows = (
        np.setdiff1d(np.arange(len(index.pair_ids)), index.known_positions)
        if test
        else index.known_positions
    )
    if not len(rows) or not len(index.known):
        lacking = (
            "rows to predict beside labelled training rows"
            if test and len(index.known)
            else "labelled rows to learn from"
        )
        raise InputError(f"knn under {protocol.kind}: this dataset has no {lacking}")
    return rows


def refuse_cut_without_effect(settings: KnnSettings) -> None:
    """Raise SettingError for a number of folds or a seed that was chosen for a protocol that cuts
    nothing."""
    protocol, values = settings.protocol, values_of(settings.protocol)
    for option in options_of(EvaluationProtocol):
        if (
            protocol.kind != "folds"
            and option.name != "protocol"
            and values[option.name] != option.default
        ):
            got = (
                f"got {values[option.name]}, which has no effect under the protocol {protocol.kind}"
            )
            raise SettingError(option.name, f"{got}; expected the protocol folds with it")


def with_power_of_effects(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return chosen settings; where support counts and no power for an effect was chosen, it is
    1."""
    return (
        {**chosen, "de_power": 1.0}
        if chosen["strength"] and chosen["de_power"] is None
        else dict(chosen)
    )


def read_knn_settings(spec: Mapping[str, Any]) -> KnnSettings:
    """Return the settings from a run's specification or options.

    spaces may be a comma-separated string. Raise InputError for impossible settings.
    """
    given = spec.get("options", spec)
    options = {
        option.name: given[option.name]
        for option in options_of(KnnSettings)
        if option.name in given
    }
    return make(KnnSettings, options)
