"""Published numbers that cannot be computed from public files. Each names the missing data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.experiments.published.sources import Computed, NotHere, Sources


def compute(_sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Raise NotHere, naming the missing data."""
    raise NotHere(wanted["missing"])
