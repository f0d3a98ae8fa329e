"""The JSON that `controls` and `baselines` print, in the terms of `core.scoring.json_shapes`."""

from __future__ import annotations

from typing import Any

from core.scoring.baselines import Baseline, BaselineScore
from core.scoring.controls import Control, RunControls, Verdict, reverse_value
from core.scoring.json_shapes import interval, shape_shown

AXES = ("de", "dir", "mean")


def controls(found: RunControls) -> dict[str, Any]:
    """Return `controls` in the contract's form: numbers, their intervals (the 95% range of permuted ones) and the verdicts."""
    judged = {"de": found.verdicts.de, "dir": found.verdicts.dir}
    return {
        "controls": [_control(each) for each in found.controls],
        "best": {"de": found.best("de"), "dir": found.best("dir")},
        "beats_no_biology": {axis: verdict.beats for axis, verdict in judged.items()},
        "verdicts": {axis: _verdict(verdict) for axis, verdict in judged.items()},
        "scored": found.scored,
        "fingerprint": [
            {**_control(each), "reversed": {axis: reverse_value(getattr(each, axis)) for axis in AXES}}
            for each in found.fingerprint
        ],
    }


def _control(found: Control) -> dict[str, Any]:
    values = {axis: getattr(found, axis) for axis in AXES}
    return {
        "name": found.name,
        **{axis: None if value is None else value.estimate for axis, value in values.items()},
        "intervals": {axis: None if value is None else interval(value) for axis, value in values.items()},
        "pooled": _pooled_json(found),
        "about": found.about,
    }


def _pooled_json(found: Control) -> dict[str, Any] | None:
    values = {
        axis: None if value is None else interval(value) for axis, value in (("de", found.pooled_de), ("dir", found.pooled_dir))
    }
    return {**values, "note": found.note} if any(values.values()) else None


def _verdict(found: Verdict) -> dict[str, Any]:
    return {"control": found.control, "verdict": None if found.beats is None else found.word, "change": interval(found.change)}


def baseline(found: Baseline) -> dict[str, Any]:
    """Return one of `baselines`: the macro AUROC by gene, which a mean by gene cannot raise, and the pooled one as `micro`."""
    covered = found.on_covered
    return {
        "name": found.name,
        "de": baseline_score(found.de),
        "dir": baseline_score(found.dir),
        "note": found.note,
        "on_covered": None
        if covered is None
        else {"rows": covered.rows, "of": covered.of, "de": baseline_score(covered.de), "dir": baseline_score(covered.dir)},
        "lacks": found.lacks or None,
    }


def baseline_score(found: BaselineScore | None) -> dict[str, Any] | None:
    """Return one question of a baseline; a macro AUROC is null if no gene has both classes."""
    if found is None:
        return None
    intervals = {"macro": shape_shown(found.macro), "micro": shape_shown(found.micro)}
    return {"macro": found.macro.value, "micro": found.micro.value, "genes": found.genes, "intervals": intervals}
