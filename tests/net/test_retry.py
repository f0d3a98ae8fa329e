"""Retry-After, as seconds and as a date."""

from __future__ import annotations

import httpx
import pytest

from core.net.retry import retry_after_s

NOW = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7),
        ({"retry-after": " 0.25 "}, 0.25),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "Sun, 06 Nov 1994 08:50:37 GMT"}, 60),
        ({"retry-after": "Sunday, 06-Nov-94 08:50:37 GMT"}, 60),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:00 GMT"}, 0),  # past
        ({"date": "Sun, 06 Nov 1994 08:49:00 GMT"}, None),
        # The server's clock is 10 s ahead of ours, and 20 s before the date.
        ({"retry-after": "Sun, 06 Nov 1994 08:50:07 GMT", "date": "Sun, 06 Nov 1994 08:49:47 GMT"}, 20),
        ({"retry-after": "Sun, 06 Nov 1994 08:50:37 GMT", "date": "today"}, 60),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": " "}, None),
        ({"retry-after": "-inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e999"}, None),
        ({"retry-after": "Sun, 99 Nov 99999999999 08:49:37 GMT"}, None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after_s(headers, NOW) == expected


def test_headers_whatever_their_case() -> None:
    assert retry_after_s(httpx.Headers({"Retry-After": "7"}), NOW) == 7
