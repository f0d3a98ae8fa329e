"""Files of hypotheses with their results, as others publish them: CSV with one line each."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.datasets.tables import Table, quote
from core.errors import InputError, UnknownFormat

TEXTS = ("name", "hypothesis", "prediction", "dataset", "metric", "level", "unit", "name_a", "name_b", "measured_on", "note")
NUMBERS = ("smallest_effect", "score_a", "score_b", "score_se", "z", "estimate", "se", "detectable_low", "detectable", "n")
COLUMNS = (*TEXTS, *NUMBERS)
NEEDED = ("name", "hypothesis", "dataset")


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One hypothesis of a file. place: "file, line 3". values: those of COLUMNS that are given, as text or numbers."""

    place: str
    values: Mapping[str, Any]


def read_ledger_file(content: bytes, name: str) -> list[LedgerRow]:
    """Return the hypotheses of a file, in its order.

    Raise InputError that names the first place which cannot be read, and UnknownFormat for a file without a hypothesis.
    """
    table = Table(io.BytesIO(content), name)
    unknown = [column for column in table.header if column not in COLUMNS]
    if unknown:
        raise InputError(f"{name}, line 1: got {', '.join(map(quote, unknown))}, expected among {', '.join(COLUMNS)}")
    rows = []
    for line, cells in table.records():
        texts = {column: cell.strip() for column, cell in zip(table.header, cells, strict=True)}
        place = f"{name}, line {line}"
        rows.append(LedgerRow(place, _read_values(place, {column: text for column, text in texts.items() if text})))
    if table.rejected:
        first = table.rejected[0]
        raise InputError(f"{name}, line {first.line}: {first.reason}: {first.detail}")
    if not rows:
        raise UnknownFormat(f"{name}: holds no hypothesis; expected a CSV file with columns {', '.join(NEEDED)}, …")
    return rows


def _read_values(place: str, texts: Mapping[str, str]) -> dict[str, Any]:
    missing = [name for name in NEEDED if name not in texts]
    if missing:
        raise InputError(f"{place}: no {', '.join(missing)}")
    values: dict[str, Any] = {name: texts[name] for name in TEXTS if name in texts}
    values |= {name: _number(place, name, texts[name]) for name in NUMBERS if name in texts}
    if "n" in values:
        if values["n"] < 1 or not values["n"].is_integer():
            raise InputError(f"{place}: n: got {quote(texts['n'])}, expected a whole number above 0")
        values["n"] = int(values["n"])
    return values


def _number(place: str, name: str, text: str) -> float:
    try:
        number = float(text.replace("−", "-"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{place}: {name}: got {quote(text)}, expected a number")
    return number
