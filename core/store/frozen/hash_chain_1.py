"""The canonical form of an entry, version 1, and the hash that chains it to the entry before.

The hash is the SHA-256, in hexadecimal digits, of this text in UTF-8: a line with FORM, a line with the hash of the entry before
(GENESIS for the first), and the canonical form. That is a JSON array of [column, type, value], sorted by column, of all columns
but `hash`, without blanks, every character beyond ASCII as \\uXXXX. A column without a value is left out, so that a column which
a later version adds changes no hash. Types and values, all of them texts:

bool   "true" or "false"
int    decimal digits
float  as C99 writes it in hexadecimal (0x1.8000000000000p+0), -0x0.0p+0, inf, -inf, nan
text   as it is; JSON is a text, and is written with sorted keys
time   2026-11-25T02:10:13.000042 as stored, without a zone; one with a zone is in UTC and ends with Z
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

FORM = "perturbdesk-chain 1"
GENESIS = "0" * 64


def chain_hash(previous: str, columns: Mapping[str, Any]) -> str:
    """Return the hash of an entry that follows one with the hash `previous`. Raise TypeError for a value of another type."""
    return hashlib.sha256(f"{FORM}\n{previous}\n{canonical_form(columns)}".encode("utf-8", "surrogatepass")).hexdigest()


def canonical_form(columns: Mapping[str, Any]) -> str:
    """Return the canonical form of an entry."""
    fields = [[name, *_typed(value)] for name, value in sorted(columns.items()) if name != "hash" and value is not None]
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":"))


def _typed(value: Any) -> tuple[str, str]:
    if isinstance(value, bool):
        return "bool", "true" if value else "false"
    if isinstance(value, int):
        return "int", str(value)
    if isinstance(value, float):
        return "float", float.hex(value)
    if isinstance(value, str):
        return "text", value
    if isinstance(value, datetime):
        utc = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return "time", utc.isoformat(timespec="microseconds") + ("" if value.tzinfo is None else "Z")
    raise TypeError(f"{value!r}: of type {type(value).__name__}, expected bool, int, float, str or datetime")
