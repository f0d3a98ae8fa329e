"""Several addresses in a text or in a file."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from core.errors import InputError
from core.file_io import read_file
from core.net.addresses import check_address, origin_of
from core.setting_types import ENDPOINT as EXAMPLE

_MAX_FILE_BYTES = 1 << 20
_ONE_A_LINE = "expected one address a line"


def names_file(text: str) -> bool:
    """Whether a text, as settings hold it, is the path of a file of addresses."""
    return text.startswith("/")


def check_addresses(text: str) -> None:
    """Raises InputError if addresses, as settings hold them, cannot be used; a file is not read."""
    if not names_file(text):
        read_addresses(text)


def read_addresses(text: str) -> tuple[str, ...]:
    """The addresses that are joined by commas in a text, or that stand in the file whose absolute path it is, in their order.

    In a file, what follows "#" is a remark. Raises InputError if there is none, if one is not an address or comes twice, and if
    the file cannot be read; its text shows nothing of a file that may hold other things.
    """
    if not names_file(text):
        return _distinct("endpoint", [_checked("endpoint", part) for part in text.split(",") if part.strip()], "expected one")
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
                    raise InputError(f"{file}, line {number}: is no address, expected one such as {EXAMPLE}")
                found.append(_checked(f"{file}, line {number}", part))
    return _distinct(str(file), found, _ONE_A_LINE)


def _checked(where: str, part: str) -> str:
    address = part.strip().rstrip("/")
    check_address(where, address, EXAMPLE)
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
