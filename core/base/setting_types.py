"""How settings are written: what a person may type for each, and what is made of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from core.base.net.addresses import ENDPOINT

EVERYONE = "*"  # among the readers: whoever signs in
_SWITCH = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


class SettingType(NamedTuple):
    """How a setting is written. read: turns its text into a value, raises ValueError if it
    cannot."""

    name: str
    expected: str
    read: Callable[[str], Any]


def _folder(text: str) -> Path:
    folder = Path(text).expanduser().resolve()
    if folder.exists() and not folder.is_dir():
        raise ValueError(text)
    return folder


def _folders(text: str) -> tuple[Path, ...]:
    folders = tuple(Path(part).expanduser().resolve() for part in text.split(os.pathsep) if part)
    if not folders or not all(folder.is_dir() for folder in folders):
        raise ValueError(text)
    return folders


def _switch(text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise ValueError(text)
    return _SWITCH[text.lower()]


def _amount(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError(text)
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _e_mails(text: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(part.strip().lower() for part in text.split(",") if part.strip()))
    if not all(each == EVERYONE or re.fullmatch(r"[^@\s]+@[^@\s]+", each) for each in found):
        raise ValueError(text)
    return found


def _addresses(text: str) -> tuple[str, ...]:
    found = [part.strip() for part in text.split(",") if part.strip()]
    return tuple(part if "://" in part else str(_absolute(part)) for part in found)


def _absolute(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_absolute():
        raise ValueError(text)
    return path


def _hosts(text: str) -> tuple[str, ...]:
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not all(part == "auto" or re.fullmatch(r"\S+:[0-9]{1,5}", part) for part in found):
        raise ValueError(text)
    return found


def _keys(text: str) -> tuple[tuple[str, str], ...]:
    found = []
    for part in text.split():
        address, equals, key = part.partition("=")
        if "://" not in address or not equals:
            raise ValueError
        found.append((address, _ascii(key)))
    return tuple(found)


def _ascii(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise ValueError(text)
    return text


FOLDER = SettingType("folder", "a folder", _folder)
FOLDERS = SettingType("folders", f"folders that are there, separated by {os.pathsep!r}", _folders)
YES_OR_NO = SettingType("yes or no", "1, true, yes, on, 0, false, no or off", _switch)
SECONDS = SettingType("seconds", "seconds, 0 or more", _amount)
MEGABYTES = SettingType(
    "megabytes", "a whole number of megabytes, 1 or more, without a unit", _count
)
PRICE = SettingType("price", "what a million tokens cost, 0 or more", _amount)
ADDRESS = SettingType("address", f"an address such as {ENDPOINT}", str)
TEXT = SettingType("text", "text", str)
E_MAIL = SettingType("e-mail address", "an e-mail address in ASCII", _ascii)
E_MAILS = SettingType("e-mail addresses", "e-mail addresses separated by commas", _e_mails)
FILE = SettingType("file", "a file", lambda text: Path(text).expanduser().resolve())
KEY = SettingType("key", "printable ASCII", _ascii)
ADDRESSES = SettingType(
    "addresses",
    "addresses, and absolute paths of files that list some, separated by commas",
    _addresses,
)
HOSTS = SettingType("hosts", "HOST:PORT, or auto, separated by commas", _hosts)
KEYS = SettingType("keys", "ADDRESS=KEY for each server, separated by blanks", _keys)
SECRET = (KEY, KEYS)  # never shown, and may stand in the file of secrets
