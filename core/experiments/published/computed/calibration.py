"""Calibration and ties on the labelled pool: the effect of an increasing function, and the gain of a perfect tie-breaker."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from core.experiments.published.sources import Computed, NotHere, Sources
from core.stats.arrays import Floats
from core.stats.auroc import auroc
from core.stats.calibration import tie_bounds
from core.stats.ranks import percentiles
from core.stats.scores_and_labels import tasks

# Increasing functions of a probability, as in the published check.
_FUNCTIONS: Mapping[str, Callable[[Floats], Floats]] = MappingProxyType(
    {
        "cube": lambda p: p**3,
        "root": np.sqrt,
        "logit": lambda p: np.log((p + 1e-6) / (1 - p + 1e-6)),
        "rank": percentiles,
    }
)


def compute(sources: Sources, wanted: Mapping[str, Any]) -> Computed:
    """Return one number.

    wanted: axis (de or dir); what: a function (returns its largest change of the AUROC), or ceiling. Raise NotHere for a
    ceiling, because it needs the debate's predictions of labelled rows; the message has the pool's own ceiling.
    """
    rows = sources.run_rows("pool")
    at = ("de", "dir").index(wanted["axis"])
    task = tasks(rows.arrays.outcome, rows.scores)[at]
    positive, values = task.positive[task.rows], task.values[task.rows]
    if wanted["what"] == "ceiling":
        bounds = tie_bounds(positive, values)
        own = f"{bounds.ceiling - bounds.auroc:+.4f} ({bounds.tied_pairs:.2%} of its pairs are ties)"
        raise NotHere(
            "needs the debate's predictions of its 250 labelled rows, which were not published; on the labelled pool a perfect "
            f"tie-breaker adds {own}; `perturbdesk ablation run calibration_ties` has the intervals"
        )
    return Computed(abs(auroc(positive, _FUNCTIONS[wanted["what"]](values)) - auroc(positive, values)))
