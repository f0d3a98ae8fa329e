"""Addresses of servers: which can be used, which are of the same server, and which are on this
machine.

Several addresses in a text or in a file.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from core.base.errors import InputError
from core.base.file_io import read_file

ENDPOINT = "http://127.0.0.1:8000/v1"  # where vLLM listens unless it is told otherwise

_PORTS = {"http": 80, "https": 443}
# Letters and digits in parts that are joined by dots: what every client reads alike. A backslash, a
# percent sign or a second dot at the end is read in several ways.
_HOST = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.?", re.IGNORECASE
)
# the last part of an IPv4 address, however it is written
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)


def check_address(name: str, url: str, example: str) -> None:
    """Raise InputError if `url` is not the address of a server.

    An address is http or https with a host, in printable ASCII, without user name, password, query
    and fragment, which may hold secrets and so are not shown. name: what the address belongs to;
    example: an address for the message.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(
            f"{name}: the address cannot be read, expected one such as {example}"
        ) from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError(
            f"{name}: the address holds a name, a password or a query (not shown), expected one"
            f" such as {example}"
        )
    printable = all("!" <= character <= "~" for character in url)
    if (
        parts.scheme not in _PORTS
        or not parts.hostname
        or port == 0
        or not printable
        or _host_of(parts.hostname) is None
    ):
        raise InputError(f"{name}: address {url!r}, expected one such as {example}")


@lru_cache(maxsize=256)
def origin_of(url: str) -> str:
    """Return the server that an address belongs to, spelled in one way: its scheme, host and port.

    Raise InputError for what is not an address: a text that two clients may read in two ways is
    none.
    """
    check_address("address", url, "https://api.example.org/v1")
    parts = urlsplit(url)
    return f"{parts.scheme}://{_host_of(parts.hostname or '')}:{parts.port or _PORTS[parts.scheme]}"


def _host_of(host: str) -> str | None:
    """Return a host spelled in one way: in lower case, without a dot at its end, a number as the
    shortest; None if it is none.

    An IPv4 address in IPv6's notation is that IPv4 address. One in other digits than four decimal
    numbers is none.
    """
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        name = host.lower().removesuffix(".")
        is_name = (
            _HOST.fullmatch(host) is not None and _NUMBER.fullmatch(name.rpartition(".")[2]) is None
        )
        return name if is_name else None
    if isinstance(number, ipaddress.IPv4Address):
        return str(number)
    return None if number.scope_id else str(number.ipv4_mapped or f"[{number}]")


def is_local(url: str) -> bool:
    """Return whether an address is on this machine: no proxy may stand in between. One that cannot
    be read is not."""
    try:
        return is_loopback(urlsplit(url).hostname or "")
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Return whether a host's name or number is this machine's own, which no other machine reaches.

    Other names are not looked up.
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


_MAX_FILE_BYTES = 1 << 20
_ONE_A_LINE = "expected one address a line"


def names_file(text: str) -> bool:
    """Return whether a text, as settings hold it, is the path of a file of addresses."""
    return text.startswith("/")


def read_addresses(text: str) -> tuple[str, ...]:
    """Return the addresses in a text, joined by commas, or in the file whose absolute path it is,
    in their order.

    In a file, what follows "#" is a remark. Raise InputError if there is none, if one is not an
    address or comes twice, and if the file cannot be read; its text shows nothing of a file that
    may hold other things.
    """
    if not names_file(text):
        return _distinct(
            "endpoint",
            [_check("endpoint", part) for part in text.split(",") if part.strip()],
            "expected one",
        )
    file = Path(text)
    try:
        lines = read_file(file, _MAX_FILE_BYTES).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is no text, {_ONE_A_LINE}") from error
    found = []
    for number, line in enumerate(lines, 1):
        for part in line.partition("#")[0].split(","):
            if part.strip():
                if "://" not in part:
                    raise InputError(
                        f"{file}, line {number}: is no address, expected one such as {ENDPOINT}"
                    )
                found.append(_check(f"{file}, line {number}", part))
    return _distinct(str(file), found, _ONE_A_LINE)


def normalise(text: str) -> str:
    """Return the given addresses in the form of settings: addresses joined by commas, or the
    absolute path of a file.

    Raise InputError as `read_addresses` does.
    """
    if "://" in text or not text.strip(" ,"):
        return ",".join(read_addresses(text))
    file = _find_file(text.strip())
    if file is None:
        raise InputError(
            f"endpoint: {text.strip()!r} is neither a file nor an address, expected one such as"
            f" {ENDPOINT}"
        )
    read_addresses(str(file))
    return str(file)


def _find_file(text: str) -> Path | None:
    """Return the absolute path of an existing file, or of any absolute path; otherwise None."""
    try:
        path = Path(text).expanduser()
        return path.absolute() if path.is_absolute() or path.is_file() else None
    except (OSError, RuntimeError):  # too long, or in the home of nobody
        return None


def _check(where: str, part: str) -> str:
    address = part.strip().rstrip("/")
    check_address(where, address, ENDPOINT)
    return address


def _distinct(where: str, addresses: list[str], expected: str) -> tuple[str, ...]:
    if not addresses:
        raise InputError(f"{where}: holds no address, {expected}")
    seen: set[tuple[str, str]] = set()
    for address in addresses:
        server = origin_of(address), urlsplit(address).path
        if server in seen:
            raise InputError(f"{where}: {address} comes twice, expected each server once")
        seen.add(server)
    return tuple(addresses)
