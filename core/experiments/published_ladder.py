"""Hypotheses published by others with their results. A row of a file becomes an entry of the ledger, judged by the same rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from core.errors import InputError
from core.experiments.decision import ALPHA, METRICS, POWER, DecisionRule, DecisionUnit, PublicChange, decide, decide_public
from core.experiments.ledger import ON_LABELS, ON_PUBLIC, with_result
from core.stats.intervals import Interval, Unit, normal_interval
from core.stats.power import detectable_difference
from core.store.hypotheses import PUBLISHED, Entry

LADDER = Path(__file__).with_name("published_ladder.csv")
_TOLERANCE = 0.06  # of z, because it is published with one decimal


def entry_of_row(place: str, values: Mapping[str, Any]) -> Entry:
    """Return an entry for a published row; without a result it is a registration.

    values: from `core.datasets.ledger_file`. The difference is `estimate`, or score_b - score_a; its standard error is `se`, or
    follows from z. Raise InputError, naming the place, for contradictory values.
    """
    _check_words(place, values)
    known = {key: value for key, value in values.items() if key not in ("estimate", "se", "z")}
    entry = Entry(kind="registration", source=PUBLISHED, **known)
    if not {"z", "se"} & values.keys():
        if "estimate" in values:
            raise InputError(f"{place}: a difference without its standard error; expected se or z")
        return entry
    difference = _difference(values)
    return _judge_z(place, entry, values) if difference is None else _judge(entry, _change(place, difference, values), values)


def _check_words(place: str, values: Mapping[str, Any]) -> None:
    measured, unit = values.get("measured_on", ON_LABELS), values.get("unit", "row")
    if measured not in (ON_LABELS, ON_PUBLIC):
        raise InputError(f"{place}: measured_on: got {measured!r}, expected {ON_LABELS} or {ON_PUBLIC}")
    if unit not in get_args(DecisionUnit):
        raise InputError(f"{place}: unit: got {unit!r}, expected {', '.join(get_args(DecisionUnit))}")
    if values.get("metric", "mean") not in METRICS:
        raise InputError(f"{place}: metric: got {values['metric']!r}, expected {', '.join(METRICS)}")
    if "smallest_effect" in values:
        _refuse_bad_rule(place, values)


def _refuse_bad_rule(place: str, values: Mapping[str, Any]) -> None:
    rule = {key: values[key] for key in ("metric", "level", "unit", "smallest_effect") if key in values}
    try:
        DecisionRule(**rule)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _difference(values: Mapping[str, Any]) -> float | None:
    if "estimate" in values:
        return float(values["estimate"])
    if "score_a" in values and "score_b" in values:
        return round(float(values["score_b"]) - float(values["score_a"]), 12)
    return None


def _change(place: str, difference: float, values: Mapping[str, Any]) -> Interval:
    """Return the published difference with its interval, from z if no standard error is published."""
    z, se = values.get("z"), values.get("se")
    if se is None:
        assert z is not None  # one of the two is given
        if not difference * z > 0:
            raise InputError(f"{place}: a difference of {difference:+g} does not fit z {z:+g}; expected the same sign")
        se = difference / z
    if not se > 0:
        raise InputError(f"{place}: se: got {se:g}, expected a number above 0")
    if z is not None and abs(difference / se - z) > _TOLERANCE:
        raise InputError(f"{place}: z is {z:g}, but the difference is {difference / se:.2f} standard errors")
    unit: Unit = values.get("unit", "row")
    return normal_interval(difference, se**2, values.get("n", 0), unit, "as published", (-1.0, 1.0))


def _judge(entry: Entry, change: Interval, values: Mapping[str, Any]) -> Entry:
    """Return the entry as a result. Without a registered effect, any detectable difference matters."""
    least = entry.detectable or detectable_difference(change.se, POWER, ALPHA)
    if entry.measured_on != ON_PUBLIC:
        return with_result(entry, change, decide(change, entry.smallest_effect or least))
    entry = replace(entry, public_a=values.get("score_a"), public_b=values.get("score_b"))
    return with_result(entry, change, decide_public(PublicChange(change, least, entry.n), entry.smallest_effect))


def _judge_z(place: str, entry: Entry, values: Mapping[str, Any]) -> Entry:
    """Return the entry of a result with only the z known: the difference in standard errors."""
    if "z" not in values:
        raise InputError(f"{place}: a standard error without a difference; expected estimate, or score_a and score_b, or z")
    z, least = values["z"], detectable_difference(1.0, POWER, ALPHA)
    change = normal_interval(z, 1.0, values.get("n", 0), "row", "as published", (-np.inf, np.inf))
    decision = decide_public(PublicChange(change, least, values.get("n"), is_z=True), None)
    return replace(
        entry,
        kind="result",
        z=z,
        public_a=values.get("score_a"),
        public_b=values.get("score_b"),
        verdict=decision.verdict,
        reason=decision.reason,
    )
