"""What a person asks for to make a dataset of a screen."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from core.cells.screen import LabelSettings
from core.engine.shared_settings import Backend, ClusterAddress
from core.fields.setting import setting


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """A dataset to make. context: a description of the cells, for prompts. backend, ray_address: where perturbations are
    compared."""

    name: Annotated[str, setting("The new dataset's name.", title="Name of the dataset", changes_result=False)] = ""
    settings: LabelSettings = field(default_factory=LabelSettings)
    context: Annotated[
        str,
        setting(
            "Description of the cells, for prompts.",
            title="Description of the cells, for prompts",
            missing="K562 cells",
            name="cells_context",
            option="--context",
            key="context",
            changes_result=False,
        ),
    ] = ""
    backend: Annotated[
        Backend,
        setting(
            "Compare perturbations in this process (local) or on a Ray cluster (ray).", title="Perturbations are compared on"
        ),
    ] = "local"
    ray_address: ClusterAddress = ""
