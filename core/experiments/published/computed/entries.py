"""The changes of published entries from their base entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.experiments.published.sources import Computed, Sources

_FILE_STEP = {"p_de": 2e-4, "p_up": 2e-3}  # two files with 4 and 6 decimals, and a quotient of such numbers


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return one number.

    wanted: entry, base (sources); axis (p_de or p_up); what: changed, the share of rows whose probability differs by more than
    the rounding of the files.
    """
    axis = wanted["axis"]
    frames = [sources.predictions(wanted[key]).set_index("pair_id") for key in ("entry", "base")]
    values = []
    for frame in frames:
        total = frame["prediction_up"] + frame["prediction_down"]
        values.append(total if axis == "p_de" else frame["prediction_up"] / total)
    differ = np.abs(values[0] - values[1].reindex(values[0].index)) > _FILE_STEP[axis]
    return Computed(float(differ.mean()))
