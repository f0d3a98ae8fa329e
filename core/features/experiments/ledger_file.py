"""Files of hypotheses with their results, as others publish them: CSV with one line each, judged by
the same rule as those of here."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from core.datasets.tables import Table, quote
from core.errors import InputError, UnknownFormat
from core.features.experiments.decision import DecisionRule, DecisionUnit, judged
from core.features.experiments.ledger_result import ON_LABELS, ON_PUBLIC, Z_DETECTABLE
from core.features.experiments.result import METRICS
from core.stats.intervals import Unit, normal_interval
from core.stats.power import detectable_difference
from core.store.hypotheses import PUBLISHED, Entry

LADDER = Path(__file__).with_name("published_ladder.csv")
NEEDED = ("name", "hypothesis", "dataset")
RULE = ("metric", "level", "unit")
TEXTS = (*NEEDED, *RULE, "prediction", "name_a", "name_b", "measured_on", "note")
OF_RESULT = ("estimate", "se", "z")
NUMBERS = (*OF_RESULT, "smallest_effect", "n", "detectable_low", "detectable")
SCORES = ("score_a", "score_b", "score_se")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "measured_on": (ON_LABELS, ON_PUBLIC),
    "unit": get_args(DecisionUnit),
    "metric": tuple(METRICS),
}
_TOLERANCE = 0.06  # of z, because it is published with one decimal


def read_published(content: bytes, name: str) -> list[Entry]:
    """Return the hypotheses of a file, in its order, as entries; without a result, registrations.

    Raise InputError that names the first line which cannot be read or contradicts itself, and
    UnknownFormat for a file without a hypothesis.
    """
    table, entries = Table(io.BytesIO(content), name), list[Entry]()
    columns = (*TEXTS, *NUMBERS, *SCORES)
    if unknown := [column for column in table.header if column not in columns]:
        got = ", ".join(map(quote, unknown))
        raise InputError(f"{name}, line 1: got {got}, expected among {', '.join(columns)}")
    for line, cells in table.records():
        pairs = zip(table.header, cells, strict=True)
        try:
            entries.append(_entry_of({key: text.strip() for key, text in pairs if text.strip()}))
        except InputError as error:
            raise InputError(f"{name}, line {line}: {error}") from None
    for problem in table.rejected:
        raise InputError(f"{name}, line {problem.line}: {problem.reason}: {problem.detail}")
    if not entries:
        expected = f"a CSV file with columns {', '.join(NEEDED)}, …"
        raise UnknownFormat(f"{name}: holds no hypothesis; expected {expected}")
    return entries


def _entry_of(texts: Mapping[str, str]) -> Entry:
    """Return the entry of a line, judged where it has a result.

    The difference is `estimate`, or score_b - score_a; its standard error is `se`, or follows from z.
    """
    values = _read(texts)
    estimate, se, z = (values.pop(name, None) for name in OF_RESULT)
    entry = Entry(kind="registration", source=PUBLISHED, **values)
    a, b, n = entry.score_a, entry.score_b, entry.n or 0
    if z is None and se is None:
        if estimate is not None:
            raise InputError("a difference without its standard error; expected se or z")
        return entry
    if estimate is None and a is not None and b is not None:
        estimate = round(b - a, 12)
    if estimate is None and z is None:
        raise InputError("a standard error without a difference; expected estimate, scores, or z")
    is_public = entry.measured_on == ON_PUBLIC
    published = replace(entry, public_a=a, public_b=b) if is_public else entry
    if estimate is None:  # only z is known: judged in standard errors
        change = normal_interval(z, 1.0, n, "row", "as published", (-np.inf, np.inf))
        result = judged(published, change, None, Z_DETECTABLE)
        return replace(published, kind="result", z=z, verdict=result.verdict, reason=result.reason)
    unit: Unit = values.get("unit", "row")
    variance = _standard_error(estimate, se, z) ** 2
    change = normal_interval(estimate, variance, n, unit, "as published", (-1.0, 1.0))
    least = entry.detectable or detectable_difference(change.se)
    if is_public:
        return judged(published, change, entry.smallest_effect, least)
    return judged(published, change, entry.smallest_effect or least)


def _read(texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of a line: texts as they are, numbers as numbers."""
    if missing := [name for name in NEEDED if name not in texts]:
        raise InputError(f"no {', '.join(missing)}")
    values: dict[str, Any] = {name: text if name in TEXTS else _number(name, text) for name, text in texts.items()}
    for name, choices in CHOICES.items():
        if values.get(name, choices[0]) not in choices:
            raise InputError(f"{name}: got {values[name]!r}, expected {', '.join(choices)}")
    if "smallest_effect" in values:
        rule = (*RULE, "smallest_effect")
        DecisionRule(**{name: values[name] for name in rule if name in values})
    return values


def _number(name: str, text: str) -> float:
    try:
        number = float(text.replace("−", "-"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{name}: got {quote(text)}, expected a number")
    if name != "n":
        return number
    if number < 1 or not number.is_integer():
        raise InputError(f"n: got {quote(text)}, expected a whole number above 0")
    return int(number)


def _standard_error(difference: float, se: float | None, z: float | None) -> float:
    if z is not None and difference * z <= 0:
        raise InputError(f"a difference of {difference:+g} does not fit z {z:+g}, expected its sign")
    if se is None:
        assert z is not None  # one of the two is given
        return difference / z
    if se <= 0:
        raise InputError(f"se: got {se:g}, expected a number above 0")
    if z is not None and abs(difference / se - z) > _TOLERANCE:
        raise InputError(f"z is {z:g}, but the difference is {difference / se:.2f} standard errors")
    return se
