"""How long a server asks to be left alone: the header Retry-After."""

from __future__ import annotations

import email.utils
import math
from collections.abc import Mapping


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds of a Retry-After header, 0 or more; None where there is none or it says neither seconds nor a date.

    headers: by their names in lower case, or whatever their case where the mapping sees to that. now: seconds since 1970;
    used where the server does not tell its own time in Date.
    """
    asked = headers.get("retry-after", "").strip()
    try:
        seconds = float(asked)
    except ValueError:
        until = _seconds_of(asked)
        if until is None:
            return None
        told = _seconds_of(headers.get("date", ""))
        seconds = until - (now if told is None else told)
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _seconds_of(date: str) -> float | None:
    try:
        parts = email.utils.parsedate_tz(date)
        return None if parts is None else float(email.utils.mktime_tz(parts))
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
