"""A server's address, its key, and how long to put up with it."""

from __future__ import annotations

import ipaddress
import json
import math
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from core.errors import InputError

HIDDEN = "[key]"
_SHORTEST_SECRET = 6  # shorter keys are placeholders such as EMPTY; hiding them would mangle what the model says


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server; base_url ends in /v1.

    timeout_s: for one whole answer. retries: how often one call is sent again after failing in passing. Waits between
    attempts grow from backoff_s by doubling up to longest_backoff_s; a server that asks (Retry-After) for more than
    longest_wait_s is given up. Raises InputError for an address or key that cannot be one; its text never shows the key.
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
        _check_address(self.base_url)
        if not all("!" <= character <= "~" for character in self.api_key):
            raise InputError("endpoint: the key holds a space, a line break or no ASCII, expected printable ASCII (not shown)")
        for name in ("timeout_s", "connect_timeout_s"):
            _check(name, getattr(self, name), 0 < getattr(self, name) < math.inf, "seconds, more than 0")
        for name in ("retries", "backoff_s", "longest_backoff_s", "longest_wait_s"):
            _check(name, getattr(self, name), 0 <= getattr(self, name) < math.inf, "0 or more")

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, where no proxy belongs in between."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def scrub(self, text: str) -> str:
        """The text without the key, also where JSON or a URL spells it otherwise."""
        if len(self.api_key) < _SHORTEST_SECRET:
            return text
        in_json = json.dumps(self.api_key)[1:-1]
        for form in (self.api_key, in_json, in_json.replace("/", "\\/"), quote(self.api_key, safe="")):
            text = text.replace(form, HIDDEN)
        return text


def _check_address(url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError("endpoint: an address that cannot be read, expected one such as http://127.0.0.1:8000/v1") from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError("endpoint: the address holds a name, a password or a query (not shown), expected the key in api_key")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InputError(f"endpoint: address {url!r}, expected one such as http://127.0.0.1:8000/v1")


def _check(name: str, value: object, holds: bool, expected: str) -> None:
    if not holds:
        raise InputError(f"endpoint: {name} is {value!r}, expected {expected}")
