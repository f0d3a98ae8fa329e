"""Files of hypotheses with their results, as others publish them: CSV with one line each, or TOML with [[hypothesis]] tables."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.datasets.tables import Table, quote
from core.errors import InputError, UnknownFormat
from core.fields.toml_table import load_toml

TEXTS = ("name", "hypothesis", "prediction", "dataset", "metric", "level", "unit", "name_a", "name_b", "measured_on", "note")
NUMBERS = ("smallest_effect", "score_a", "score_b", "score_se", "z", "estimate", "se", "detectable_low", "detectable")
COUNTS = ("n",)
COLUMNS = (*TEXTS, *NUMBERS, *COUNTS)
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
    rows = list(_from_toml(content, name) if name.lower().endswith(".toml") else _from_csv(content, name))
    if not rows:
        raise UnknownFormat(f"{name}: holds no hypothesis; expected a CSV file with columns {', '.join(NEEDED)}, …, or TOML")
    return [LedgerRow(place, _check(place, values)) for place, values in rows]


def _from_csv(content: bytes, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    table = Table(io.BytesIO(content), name)
    _refuse_unknown(f"{name}, line 1", table.header)
    for line, cells in table.records():
        values = {column: cell.strip() for column, cell in zip(table.header, cells, strict=True)}
        yield f"{name}, line {line}", {column: value for column, value in values.items() if value}
    if table.rejected:
        first = table.rejected[0]
        raise InputError(f"{name}, line {first.line}: {first.reason}: {first.detail}")


def _from_toml(content: bytes, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: {error}, expected TOML in UTF-8") from None
    found = load_toml(text, name)
    tables = found.get("hypothesis")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UnknownFormat(f"{name}: got {', '.join(found) or 'nothing'}, expected [[hypothesis]] tables")
    for number, table in enumerate(tables, 1):
        place = f"{name}, hypothesis {number}"
        _refuse_unknown(place, table)
        yield place, table


def _refuse_unknown(place: str, names: Any) -> None:
    unknown = [str(name) for name in names if name not in COLUMNS]
    if unknown:
        raise InputError(f"{place}: got {', '.join(map(quote, unknown))}, expected among {', '.join(COLUMNS)}")


def _check(place: str, values: Mapping[str, Any]) -> dict[str, Any]:
    missing = [name for name in NEEDED if not str(values.get(name, "")).strip()]
    if missing:
        raise InputError(f"{place}: no {', '.join(missing)}")
    checked: dict[str, Any] = {name: str(values[name]).strip() for name in TEXTS if name in values}
    checked |= {name: _number(place, name, values[name]) for name in NUMBERS if name in values}
    for name in COUNTS:
        if name in values:
            number = _number(place, name, values[name])
            if number < 1 or number != int(number):
                raise InputError(f"{place}: {name}: got {quote(str(values[name]))}, expected a whole number above 0")
            checked[name] = int(number)
    return checked


def _number(place: str, name: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(str(value).replace("−", "-"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{place}: {name}: got {quote(str(value))}, expected a number")
    return number
