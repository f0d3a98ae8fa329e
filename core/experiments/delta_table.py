"""The numbers of a comparison as the table that its figure draws: changes by every unit, placebos, the noise floor."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.experiments.benchmark_report import ArmResult, NoiseFloor
from core.stats.intervals import Interval

COLUMNS = ("metric", "kind", "name", "estimate", "low", "high", "n")
PARTS = ("mean", "DE", "DIR")
UNITS = {
    "shown": "allowing for shared perturbations and genes",
    "two_way": "both axes, V_pert + V_gene − V_row",
    "gene": "allowing for shared genes",
    "pert": "allowing for shared perturbations",
    "row": "by rows alone",
}


def delta_table(each: ArmResult, noise: NoiseFloor | None) -> pd.DataFrame:
    """One row for each interval of a comparison; columns: metric, kind (change, placebo, noise), name, estimate, low, high, n.

    The noise floor stands under its metric as 0 ± the typical difference of the arm from itself, if it is that arm's.
    """
    rows: list[tuple[object, ...]] = []
    for i, metric in enumerate(PARTS):
        change = each.found.comparison.parts[metric].change
        rows += [_line(metric, "change", name, getattr(change, unit)) for unit, name in UNITS.items()]
        typical = np.nan if noise is None or noise.arm != each.arm.name else float(noise.typical[(2, 0, 1)[i]])
        if noise is not None and not np.isnan(typical):
            rows.append((metric, "noise", f"the arm against itself, another {noise.kind}", 0.0, -typical, typical, change.n))
    rows += [_line("placebo", "placebo", one.metric, one.change.change.shown) for one in each.placebos]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _line(metric: str, kind: str, name: str, found: Interval) -> tuple[object, ...]:
    return metric, kind, name, found.estimate, found.low, found.high, found.n
