"""The retry policy, and Retry-After as seconds and as a date."""

from __future__ import annotations

import random
from dataclasses import replace

import httpx2
import pytest

from core.base.net.retry import Fault, RetryPolicy, is_retryable, retry_after_s

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
        (
            {
                "retry-after": "Sun, 06 Nov 1994 08:50:07 GMT",
                "date": "Sun, 06 Nov 1994 08:49:47 GMT",
            },
            20,
        ),
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
    assert retry_after_s(httpx2.Headers({"Retry-After": "7"}), NOW) == 7


POLICY = RetryPolicy(retries=3, backoff_s=1.0, longest_backoff_s=10.0, longest_wait_s=60.0)
FAULT = Fault("unanswered", "HTTP 500", retryable=True, status=500)


def test_retryable_statuses() -> None:
    assert [status for status in range(400, 500) if is_retryable(status)] == [408, 409, 425, 429]
    assert all(map(is_retryable, range(500, 600)))
    assert not any(map(is_retryable, (200, 301)))


def test_reasons_to_give_up() -> None:
    assert [POLICY.reason_to_give_up(FAULT, failures) for failures in (1, 2, 3, 4)] == [
        None,
        None,
        None,
        "no retries left",
    ]
    assert POLICY.reason_to_give_up(replace(FAULT, retryable=False), 1) == "final"
    assert POLICY.reason_to_give_up(replace(FAULT, wait_s=60.0), 1) is None
    assert POLICY.reason_to_give_up(replace(FAULT, wait_s=60.1), 1) == "wait too long"
    assert POLICY.reason_to_give_up(replace(FAULT, wait_s=60.1), 4) == "wait too long"


@pytest.mark.parametrize(
    ("failures", "longest"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (10_000, 10)]
)
def test_back_off_doubles_with_jitter(failures: int, longest: float) -> None:
    rng = random.Random(1)
    waits = [POLICY.wait_s(FAULT, failures, rng) for _ in range(200)]
    assert longest / 2 <= min(waits) < 0.55 * longest
    assert 0.95 * longest < max(waits) <= longest


def test_what_the_server_asks_for_comes_first() -> None:
    rng = random.Random(1)
    waits = [POLICY.wait_s(replace(FAULT, wait_s=7.0), 3, rng) for _ in range(200)]
    assert 7 <= min(waits) < 7.1
    assert 7.9 < max(waits) <= 8


def test_a_server_that_asks_for_no_wait_is_not_asked_again_at_once() -> None:
    rng = random.Random(1)
    waits = [POLICY.wait_s(replace(FAULT, wait_s=0.0), 3, rng) for _ in range(200)]
    assert 2 <= min(waits) < 2.1  # half of 4 s, the third back-off
    assert 3.9 < max(waits) <= 4
