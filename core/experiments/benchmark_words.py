"""The result of a benchmark in words (the verdict first), as the table of its figure, and as JSON.

All have the arms, the changes with every interval, placebos and the noise floor.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from core.experiments.benchmark_report import ArmResult, BenchmarkReport, NoiseFloor, Placebo, spread_of_cuts
from core.experiments.benchmark_spec import BenchmarkSpec
from core.scoring import json_shapes
from core.scoring.sentences import UNSEEN, axes_text, interval_text
from core.stats.arrays import Floats
from core.stats.intervals import Interval
from core.stats.multiplicity import p_value
from core.texts import number_text, table_lines

NAMES = ("de", "dir", "mean")


COLUMNS = ("metric", "kind", "name", "estimate", "low", "high", "n")
TABLE_PARTS = ("mean", "DE", "DIR")
UNITS = {
    "shown": "allowing for shared perturbations and genes",
    "two_way": "both axes, V_pert + V_gene − V_row",
    "gene": "allowing for shared genes",
    "pert": "allowing for shared perturbations",
    "row": "by rows alone",
}


def verdict_sentence(each: ArmResult, spec: BenchmarkSpec) -> str:
    """Return the verdict on an arm by the rule fixed beforehand, with the change of the primary metric."""
    decision = each.decision(spec)
    allowed = axes_text(each.decisive(spec))
    what = f"{each.arm.name} against {each.control.name}: {spec.primary} {decision.reason.removesuffix('.')}"
    return f"{decision.verdict.capitalize()}. {what} ({allowed})."


def result_sentences(each: ArmResult, spec: BenchmarkSpec) -> list[str]:
    """Return sentences on an arm: the verdict, the difference, the scoring, the variation between cuts, and the placebos."""
    pair = each.found.pair
    spread = spread_of_cuts(each.found)
    sentences = [verdict_sentence(each, spec), difference_sentence(each), f"Both are scored {UNSEEN} ({pair.scored})."]
    if pair.left_out:
        sentences.append(f"{pair.left_out:,} rows that an arm does not cover are left out.")
    if not math.isnan(spread[2]):
        sentences.append(f"Between cuts the change has a standard deviation of {_three(spread)}.")
    if each.dossiers is not None:
        rows, differing = each.dossiers
        sentences.append(f"{rows:,} rows asked the same tools the same question in both arms; {differing:,} got another answer.")
    return [*sentences, *(placebo_sentence(one) for one in each.placebos)]


def difference_sentence(each: ArmResult) -> str:
    """Return a sentence on the difference of an arm from its control."""
    if not each.difference.known:
        return f"Whether {each.arm.name} differs from {each.control.name} in one thing only cannot be checked: both are runs."
    n = len(each.difference.things)
    return f"{'One thing differs' if n == 1 else f'{n} things differ'}: {'; '.join(each.difference.things)}."


def placebo_sentence(found: Placebo) -> str:
    """Return a sentence on whether a metric moved that the change cannot affect."""
    shown = found.change.change.shown
    if math.isnan(shown.estimate):
        return f"Placebo {found.metric}: no pair of both classes, so it is undefined."
    moved = "changed, so something else changed too" if found.moved else "did not move"
    return f"Placebo {found.metric}, which the change cannot affect, {moved}: {interval_text(shown, signed=True)}."


def noise_sentence(found: NoiseFloor | None) -> str:
    """Return a sentence on the noise floor, the difference of an arm from its repeat."""
    if found is None:
        return "No noise floor, since no arm was repeated: [noise] chooses one."
    if not len(found.differences):
        return f"No noise floor: {found.arm} calls no model, so only another cut could repeat it, and there is only one."
    what = "another seed" if found.kind == "seed" else "another cut of the folds (it calls no model)"
    return f"Noise floor: {found.arm} under {what} differs from itself by {_three(found.typical)}, {found.repeats} repeats."


def benchmark_lines(found: BenchmarkReport) -> list[str]:
    """Return the whole report as lines: verdicts first, then a table of arms and deltas, then the noise floor."""
    lines = [found.spec.question] if found.spec.question else []
    for each in found.results:
        lines += [*result_sentences(each, found.spec), *_table(each), ""]
    tokens = "unknown" if found.tokens is None else f"{found.tokens:,}"
    return [*lines, noise_sentence(found.noise), f"Tokens of all runs: {tokens}."]


def _table(each: ArmResult) -> list[str]:
    units = {"delta": "shown", "by rows": "row", "by perturbations": "pert", "by genes": "gene"}
    rows = [
        {
            "": name,
            "control": interval_text(part.a.shown),
            "tested": interval_text(part.b.shown),
            **{title: interval_text(getattr(part.change, unit), signed=True) for title, unit in units.items()},
            "P(>0)": number_text(part.p_gt_0),
        }
        for name, part in each.found.comparison.parts.items()
    ]
    return table_lines(rows)


def _three(values: Floats) -> str:
    de, direction, mean = map(number_text, values.tolist())
    return f"{de} (DE), {direction} (DIR), {mean} (mean)"


def delta_table(each: ArmResult, noise: NoiseFloor | None) -> pd.DataFrame:
    """Return one row for each interval of a comparison.

    Columns: metric, kind (change, placebo, noise), name, estimate, low, high, n. If the noise floor is of this arm, it is
    listed under its metric as 0 ± the typical difference between repeats.
    """
    rows: list[tuple[object, ...]] = []
    for i, metric in enumerate(TABLE_PARTS):
        change = each.found.comparison.parts[metric].change
        rows += [_line(metric, "change", name, getattr(change, unit)) for unit, name in UNITS.items()]
        typical = np.nan if noise is None or noise.arm != each.arm.name else float(noise.typical[(2, 0, 1)[i]])
        if noise is not None and not np.isnan(typical):
            rows.append((metric, "noise", f"the arm against itself, another {noise.kind}", 0.0, -typical, typical, change.n))
    rows += [_line("placebo", "placebo", one.metric, one.change.change.shown) for one in each.placebos]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _line(metric: str, kind: str, name: str, found: Interval) -> tuple[object, ...]:
    return metric, kind, name, *found.ends, found.n


def benchmark(found: BenchmarkReport) -> dict[str, Any]:
    """Return the JSON `benchmark`: the specification, the comparisons of arms, and the noise floor (null without a repeat)."""
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
        "sd_of_cuts": _by_part(spread_of_cuts(each.found)),
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
    return {"arm": found.arm, "kind": found.kind, "repeats": found.repeats, "typical": _by_part(found.typical), "delta": changed}


def _by_part(values: Floats) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else float(value) for name, value in zip(NAMES, values.tolist(), strict=True)}
