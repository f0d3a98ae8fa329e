"""The JSON of a benchmark: arms, deltas with every interval, placebos, the noise floor."""

from __future__ import annotations

import math
from typing import Any

from core.experiments.benchmark_report import ArmResult, BenchmarkReport, NoiseFloor, Placebo, spread_of_cuts
from core.experiments.benchmark_spec import BenchmarkSpec
from core.experiments.variance_components import components_of
from core.scoring import json_shapes
from core.stats.arrays import Floats
from core.stats.multiplicity import p_value

NAMES = ("de", "dir", "mean")


def benchmark(found: BenchmarkReport) -> dict[str, Any]:
    """`benchmark`: what was asked, the comparisons of the arms, and the noise floor (null if nothing was repeated)."""
    spec = found.spec
    return {
        "name": spec.name,
        "question": spec.question or None,
        "primary": spec.primary,
        "smallest_effect": spec.smallest_effect,
        "rows": found.n_wanted,
        "folds": {"k": spec.folds.k, "cuts": list(spec.folds.cuts)},
        "arms": [{"name": arm.name, "runs": _runs(found, arm.name)} for arm in spec.arms],
        "comparisons": [_comparison(each, spec) for each in found.results],
        "noise_floor": None if found.noise is None else _noise(found.noise),
        "tokens": found.tokens,
    }


def _runs(found: BenchmarkReport, arm: str) -> list[dict[str, Any]]:
    return [{"cut": cut, "seed": seed, "run": run} for (cut, seed), run in found.runs.get(arm, {}).items()]


def _comparison(each: ArmResult, spec: BenchmarkSpec) -> dict[str, Any]:
    found = each.found.comparison
    sides = {side: {name: json_shapes.shape_shown(getattr(getattr(found, name), side)) for name in NAMES} for side in ("a", "b")}
    return {
        "arm": each.arm.name,
        "against": each.control.name,
        "difference": list(each.difference.things),
        "difference_known": each.difference.known,
        "scored": each.found.pair.scored,
        "left_out": each.found.pair.left_out,
        "control": sides["a"],
        "tested": sides["b"],
        **json_shapes.changes(found),
        "p_gt_0": {name: getattr(found, name).p_gt_0 for name in NAMES},
        "detectable": {name: getattr(found, name).detectable for name in NAMES},
        "sd_of_cuts": _three(spread_of_cuts(each.found)),
        "variance_shares": components_of(each.found, spec.primary).shares,
        "placebo": [_placebo(one) for one in each.placebos],
        "dossiers": None if each.dossiers is None else {"rows": each.dossiers[0], "differing": each.dossiers[1]},
        "verdict": (judged := each.decision(spec)).verdict,
        "rows_needed": judged.rows_needed,
    }


def _placebo(found: Placebo) -> dict[str, Any]:
    shown = found.change.change.shown
    return {
        "metric": found.metric,
        "delta": json_shapes.shape_shown(found.change.change),
        "p": p_value(shown),
        "moved": found.moved,
    }


def _noise(found: NoiseFloor) -> dict[str, Any]:
    changed = None if found.change is None else json_shapes.changes(found.change.comparison)
    return {"arm": found.arm, "kind": found.kind, "repeats": found.repeats, "typical": _three(found.typical), "delta": changed}


def _three(values: Floats) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else float(value) for name, value in zip(NAMES, values.tolist(), strict=True)}
