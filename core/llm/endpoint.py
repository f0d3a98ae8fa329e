"""A model server: its address, its key, its time limits and its retry policy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from core.errors import InputError
from core.net.addresses import check_address
from core.net.retry import RetryPolicy
from core.net.secrets import scrub

EXAMPLE = "http://127.0.0.1:8000/v1"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server; base_url ends in /v1.

    timeout_s: for one whole answer. connect_timeout_s: for making a connection. The other numbers: see `RetryPolicy`.
    Raises InputError if the address, the key or a number is invalid; its text never shows the key.
    """

    base_url: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 600.0
    connect_timeout_s: float = 5.0
    retries: int = 5
    backoff_s: float = 0.5
    longest_backoff_s: float = 30.0
    longest_wait_s: float = 120.0

    def __post_init__(self) -> None:
        check_address("endpoint", self.base_url, EXAMPLE)
        if not all("!" <= character <= "~" for character in self.api_key):
            raise InputError("endpoint: the key holds a space, a line break or no ASCII, expected printable ASCII (not shown)")
        for name in ("timeout_s", "connect_timeout_s"):
            _check(name, getattr(self, name), 0 < getattr(self, name) < math.inf, "seconds, more than 0")
        for name in ("retries", "backoff_s", "longest_backoff_s", "longest_wait_s"):
            _check(name, getattr(self, name), 0 <= getattr(self, name) < math.inf, "0 or more")

    @property
    def retry_policy(self) -> RetryPolicy:
        """When a failed call is sent again."""
        return RetryPolicy(self.retries, self.backoff_s, self.longest_backoff_s, self.longest_wait_s)

    def scrub(self, text: str) -> str:
        """The text without the key."""
        return scrub(text, self.api_key)


def _check(name: str, value: object, holds: bool, expected: str) -> None:
    if not holds:
        raise InputError(f"endpoint: {name} is {value!r}, expected {expected}")
