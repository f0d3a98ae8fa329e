"""Published numbers that no public file allows to compute; each says what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.experiments.published.sources import Computed, NotHere, Sources


def compute(_sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Raise NotHere with what is missing."""
    raise NotHere(wanted["missing"])
