"""Requests of a kNN and of a fusion, as a person asks for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from core.base.fields.setting import Whole, setting
from core.methods.fusion_settings import FusionSettings
from core.runs.spec import DatasetName
from core.transfer.knn_settings import KnnSettings
from core.transfer.permutation_null import (
    N_PERMUTATIONS,
)


@dataclass(frozen=True, slots=True)
class FusionRequest:
    """A fusion as a person asks for it. name: of the run that is saved."""

    name: Annotated[
        str,
        setting(
            "The new run's name.", title="Name of the new run", key="mix_name", changes_result=False
        ),
    ] = ""
    settings: FusionSettings = field(default_factory=FusionSettings)


@dataclass(frozen=True, slots=True)
class KnnRequest:
    """A kNN as a person asks for it. permutations: of the null. name: of the run that is saved."""

    settings: KnnSettings
    dataset: DatasetName = None
    permutations: Annotated[
        Whole,
        setting(
            "Under folds, the number of permutations for the null; 0 for none.",
            where="command",
            changes_result=False,
        ),
    ] = N_PERMUTATIONS
    name: Annotated[
        str | None, setting("Also save the priors as a run.", where="command", changes_result=False)
    ] = None
