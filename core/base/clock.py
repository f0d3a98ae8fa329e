"""One clock for all times that are shown: local time without a zone, as the store dates its rows.
Workers write UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_of(local: datetime) -> datetime:
    """Return a local time, without a zone, in UTC, without a zone either."""
    return local.astimezone(UTC).replace(tzinfo=None)


def local_of(utc: datetime) -> datetime:
    """Return a time in UTC, without a zone or with any, as local time without a zone."""
    aware = utc if utc.tzinfo is not None else utc.replace(tzinfo=UTC)
    return aware.astimezone().replace(tzinfo=None)
