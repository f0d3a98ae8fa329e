"""What a failed exchange is, and the retry policy: which are repeated, after how long, and when to
give up."""

from __future__ import annotations

import asyncio
import email.utils
import math
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal

from core.base.net.response_cache import MAX_WAIT_S, ResponseCache

Sleep = Callable[[float], Awaitable[object]]
GiveUp = Literal["final", "wait too long", "no retries left"]

# Beside every 5xx: request timeout, conflict (openai's own client repeats it, too), too early, too
# many requests.
RETRYABLE = frozenset({408, 409, 425, 429})
BUSY = frozenset({429, 503, 529})  # the server asks for fewer requests


@dataclass(frozen=True, slots=True)
class Fault:
    """An exchange that failed.

    kind: unanswered (no answer, or one that asks to come back later), refused, malformed, or
    declined (by whom a question is asked, not by the server). retryable: whether sending the
    request again may help. status: None if no answer came. wait_s: the wait requested by the
    server, or None. raw: the text of the answer, without secrets. meaning: of a refusal, in a word
    of the server's protocol; "" if it has none.
    """

    kind: Literal["unanswered", "refused", "malformed", "declined"]
    message: str
    retryable: bool = False
    status: int | None = None
    wait_s: float | None = None
    raw: str = ""
    began: bool = False
    meaning: str = ""

    @property
    def busy(self) -> bool:
        """Whether the server asks for fewer requests."""
        return self.status in BUSY


def is_retryable(status: int) -> bool:
    """Return whether a request that got this HTTP status may succeed when it is sent again."""
    return status in RETRYABLE or status >= 500


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how fast a failed request is repeated.

    retries: repetitions after the first failure. Back-off starts at backoff_s and doubles up to
    longest_backoff_s. longest_wait_s: a server that asks for a longer wait (Retry-After) is
    abandoned.
    """

    retries: int
    backoff_s: float
    longest_backoff_s: float
    longest_wait_s: float

    def reason_to_give_up(self, fault: Fault, failures: int) -> GiveUp | None:
        """Return why the request is not sent again after its latest fault; None if it is. failures:
        faults so far, 1 or more."""
        if not fault.retryable:
            return "final"
        if fault.wait_s is not None and fault.wait_s > self.longest_wait_s:
            return "wait too long"
        return "no retries left" if failures > self.retries else None

    def wait_s(self, fault: Fault, failures: int, rng: random.Random) -> float:
        """Return seconds until the next attempt, with jitter.

        What the server asked for plus up to one `backoff_s`; half to all of the doubled back-off if
        that is longer, so that a server that asks for 0 s, or for a time in the past, is not asked
        again at once.
        """
        doubled = math.ldexp(self.backoff_s, min(failures - 1, 60))
        backoff_s = min(self.longest_backoff_s, doubled) * rng.uniform(0.5, 1.0)
        if fault.wait_s is None:
            return backoff_s
        return max(fault.wait_s + rng.random() * self.backoff_s, backoff_s)


def retry_after_s(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds of a Retry-After header, 0 or more; None if it is missing, or neither a
    number nor a date.

    headers: by their lower-case names, or a mapping that ignores case. now: seconds since 1970,
    used for a date if the server does not send its own time in Date.
    """
    value = headers.get("retry-after", "").strip()
    try:
        # which some servers send, and which is more exact
        return max(float(headers["retry-after-ms"]) / 1000, 0.0)
    except (KeyError, ValueError):
        pass
    try:
        seconds = float(value)
    except ValueError:
        until = _timestamp(value)
        if until is None:
            return None
        server_time = _timestamp(headers.get("date", ""))
        seconds = until - (now if server_time is None else server_time)
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _timestamp(date: str) -> float | None:
    """Return seconds since 1970 of an HTTP date; None if it cannot be read."""
    try:
        parts = email.utils.parsedate_tz(date)
        return None if parts is None else float(email.utils.mktime_tz(parts))
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


MARGIN = 1.05  # clocks of two machines need not run alike
_POLL_S = 0.05  # until a turn that is taken is looked at again
Take = Callable[[], Awaitable[None]]


class RateLimit:
    """The rate of one source: requests are sent in turn, evenly spaced.

    per_s: requests a second. serial: whether each request must be answered before the next is sent,
    which holds for a source that allows one a second in any case: then they also arrive so.
    cache: the file through which processes share the rate; None or an unusable file leaves each
    process its own. lease_s: after which the turn of a process that died with a request is free
    again; longer than any request takes.
    """

    def __init__(
        self,
        source: str,
        per_s: float,
        serial: bool,
        cache: ResponseCache | None,
        sleep: Sleep = asyncio.sleep,
        lease_s: float = MAX_WAIT_S,
    ) -> None:
        self.source, self._cache, self._sleep = source, cache, sleep
        self._serial = serial or per_s <= 1
        self._rest_s = MARGIN / per_s
        self._held_s = lease_s if self._serial else self._rest_s
        self._line = asyncio.Semaphore(1 if self._serial else int(per_s))
        self._free_at = 0.0  # of this process only, in seconds since 1970
        self._blocked_until = 0.0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Take]:
        """Wait until a request may be prepared, and give the turn back when the block ends, with
        the answer.

        Yield a function to be awaited right before a request is written: it waits for the turn.
        """
        is_taken = False

        async def take() -> None:
            nonlocal is_taken
            while (at := self._take(now := time.time())) > now:
                await self._sleep(min(at - now, _POLL_S))
            is_taken = True

        async with self._line:
            try:
                while (at := _not_before(now := time.time(), self._free_at)) > now:
                    await self._sleep(min(at - now, _POLL_S))
                yield take
            finally:
                if is_taken and self._serial:
                    self._set(time.time() + self._rest_s)

    def block(self, seconds: float) -> None:
        """Keep every process from asking the source for so many seconds."""
        now = time.time()
        self._blocked_until = max(_not_before(now, self._blocked_until), now + seconds)
        self._set(_not_before(now, self._free_at))

    def _set(self, free_at: float) -> None:
        self._free_at = max(free_at, _not_before(time.time(), self._blocked_until))
        if self._cache is not None:
            self._cache.set_turn(self.source, self._free_at)

    def _take(self, now: float) -> float:
        """Take the turn if it is free; return `now`, or when it will be free."""
        if (at := _not_before(now, self._free_at)) > now:
            return at
        until = now + self._held_s
        shared = None if self._cache is None else self._cache.take_turn(self.source, now, until)
        if shared is None or shared == now:
            self._free_at = until
        return shared or now


def _not_before(now: float, at: float) -> float:
    """Return when to go on; a time further ahead than any wait was noted before the clock was set
    back."""
    return at if now < at <= now + MAX_WAIT_S else now
