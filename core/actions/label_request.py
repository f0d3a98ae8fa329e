"""What a person asks for to make a dataset of a screen."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.cells.screen import LabelSettings
from core.engine.shared_settings import cluster_address, where_predicted
from core.engine.spec import BackendName
from core.fields.record import setting


@dataclass(frozen=True, slots=True)
class LabelRequest:
    """A dataset to make. context: a description of the cells, for prompts. backend, ray_address: where perturbations are
    compared."""

    name: str = setting("", "The new dataset's name.", title="Name of the dataset", required=True, changes_result=False)
    settings: LabelSettings = field(default_factory=LabelSettings)
    context: str = setting(
        "",
        "Description of the cells, for prompts.",
        name="cells_context",
        title="Description of the cells, for prompts",
        missing="K562 cells",
        flag="--context",
        key="context",
        changes_result=False,
    )
    backend: BackendName = where_predicted(
        "local", "Compare perturbations in this process (local) or on a Ray cluster (ray).", "Perturbations are compared on"
    )
    ray_address: str = cluster_address()
