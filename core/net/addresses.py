"""Addresses of servers: which can be used, and which are on this machine; and keys, which no text may show."""

from __future__ import annotations

import ipaddress
import json
from urllib.parse import quote, urlsplit

from core.errors import InputError

_HIDDEN = "[key]"
_MIN_LENGTH = 6  # shorter keys are placeholders such as EMPTY; hiding them would mangle ordinary words


def check_address(name: str, url: str, example: str) -> None:
    """Raises InputError if `url` is not the address of a server.

    An address is http or https with a host, in printable ASCII, without user name, password, query and fragment, which
    may hold secrets and so are not shown. name: what the address belongs to; example: an address for the message.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{name}: the address cannot be read, expected one such as {example}") from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError(f"{name}: the address holds a name, a password or a query (not shown), expected one such as {example}")
    printable = all("!" <= character <= "~" for character in url)
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not printable:
        raise InputError(f"{name}: address {url!r}, expected one such as {example}")


def is_local(url: str) -> bool:
    """Whether an address is on this machine: no proxy may stand in between. One that cannot be read is not."""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def scrub(text: str, key: str) -> str:
    """The text with `[key]` in place of the key, also where JSON or a URL spells the key differently.

    Keys of fewer than 6 characters are left in.
    """
    if len(key) < _MIN_LENGTH:
        return text
    in_json = json.dumps(key)[1:-1]
    for spelling in (key, in_json, in_json.replace("/", "\\/"), quote(key, safe="")):
        text = text.replace(spelling, _HIDDEN)
    return text
