"""The baselines without biology beside a run, in words, as tables and as the JSON of `controls`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.scoring.controls import Control, RunControls, Verdict, reverse_value
from core.scoring.json_shapes import interval
from core.scoring.sentences import axes_text, interval_text, scored_text
from core.stats.intervals import Interval
from core.texts import NO_BIOLOGY, number_text, table_lines

AXES = ("de", "dir", "mean")


def verdict_sentence(axis: str, verdict: Verdict) -> str:
    """Return whether a run beats the no-biology baseline on an axis ("DE" or "DIR"), in words."""
    change, baseline = interval_text(verdict.change, signed=True), f"the {NO_BIOLOGY} ({verdict.control})"
    if verdict.beats is None:
        return f"{axis}: no labels of both classes, so no verdict"
    if verdict.beats:
        return f"{axis} beats {baseline}: {change}, {axes_text(verdict.change)}"
    if verdict.word == "no":
        return f"{axis} is below {baseline}: {change}, {axes_text(verdict.change)}"
    return f"{axis} and {baseline} cannot be distinguished: {change}, {axes_text(verdict.change)}"


def verdict_lines(found: RunControls) -> list[str]:
    """Return whether a run beats the no-biology baseline, a sentence for each axis whose labels have both classes."""
    judged = (("DE", found.verdicts.de), ("DIR", found.verdicts.dir))
    return [f"{verdict_sentence(axis, verdict)}." for axis, verdict in judged if verdict.beats is not None]


def controls_table(controls: Sequence[Control], *, is_reversed: bool = False) -> list[dict[str, str | None]]:
    """Return a line for each control, of texts; is_reversed: with the scores of its reversed order."""
    reverses = {"DE reversed": "de", "DIR reversed": "dir"} if is_reversed else {}
    return [
        {
            "name": each.name,
            **{"DE": _text(each.de), "DIR": _text(each.dir), "mean": _text(each.mean)},
            **{"DE, pooled": _text(each.pooled_de), "DIR, pooled": _text(each.pooled_dir)},
            "how to read the pooled ones": each.note,
            **{title: _reverse_text(getattr(each, axis)) for title, axis in reverses.items()},
        }
        for each in controls
    ]


def _text(value: Interval | None) -> str | None:
    return None if value is None else interval_text(value)


def _reverse_text(value: Interval | None) -> str | None:
    found = reverse_value(value)
    return None if found is None else number_text(found)


def control_lines(found: RunControls) -> list[str]:
    """Return `controls` as lines: the verdicts, the run above its controls, and the fingerprint of the sampling."""
    return [
        *verdict_lines(found),
        "",
        f"Controls, {found.unit}, {scored_text(found.scored)}:",
        *table_lines(controls_table([found.own, *found.controls])),
        "",
        "Scores that the sampling alone gives away; a run need not beat them:",
        *table_lines(controls_table(found.fingerprint, is_reversed=True)),
    ]


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
        "pooled": _pooled_scores(found),
        "about": found.about,
    }


def _pooled_scores(found: Control) -> dict[str, Any] | None:
    values = {
        axis: None if value is None else interval(value) for axis, value in (("de", found.pooled_de), ("dir", found.pooled_dir))
    }
    return {**values, "note": found.note} if any(values.values()) else None


def _verdict(found: Verdict) -> dict[str, Any]:
    return {"control": found.control, "verdict": None if found.beats is None else found.word, "change": interval(found.change)}
