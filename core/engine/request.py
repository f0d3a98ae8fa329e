"""What a person asks for: the same record from a page, a command, a saved mix and an experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.engine.spec import LabelViewSpec


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run as it is asked for; None and "" take the default. `resolve` makes the specification of it.

    options: name → value, as text or as it is. rows: as in `parse_row_selection`; by default the rows that a derived method is
    made for, else the test split where there is one. name: by default made from method and rows. labels: all, blinded, folds,
    or auto, which takes folds where a chosen row has a label, so that no row sees its own, else all; or a label view.
    seed and repeat: of the calls of a model; repeat tells apart runs that are otherwise the same. endpoint to cached: how the
    run is carried out, no part of what it is.
    """

    method: str
    dataset: str | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    rows: str = ""
    name: str | None = None
    model: str | None = None
    labels: str | LabelViewSpec = "auto"
    seed: int = 0
    repeat: int = 0
    endpoint: str | None = None
    concurrency: int = 16
    timeout_s: float = 600.0
    token_budget: int | None = None
    cached: bool = True
