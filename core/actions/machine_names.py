"""What means something on this machine alone, or is secret: it leaves with nothing that is sent to others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from core.config import Settings

_SHORTEST_KEY = 8  # characters; a shorter one would be found in any text
_PATH = re.compile(r"(?<![\w:/.~-])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\'\":]+[/\\])+([^\s/\\'\":]*)")
_ADDRESS = re.compile(r"https?://[^\s'\"<>()]+")


class Remover(Protocol):
    """Removes folders and addresses from a text.

    inside: whether they may stand in its middle; else the text is a path or has none.
    """

    def __call__(self, text: str, *, inside: bool = True) -> str: ...


def remover(settings: Settings) -> Remover:
    """Returns what removes the folders of files and the addresses of servers from a text."""
    places = sorted({f"{place}/" for place in (settings.workspace, settings.data, Path.home()) if place != Path("/")}, key=len)

    def remove(text: str, *, inside: bool = True) -> str:
        for place in reversed(places):
            text = text.replace(place, "")
        text = _PATH.sub(r"\1", text) if inside or _PATH.fullmatch(text) else text
        return _ADDRESS.sub("a server", text) if inside else text

    return remove


def change_texts(value: Any, change: Remover) -> Any:
    """Returns a copy of plain data with `change` applied to every text that is not a key."""
    if isinstance(value, str):
        return change(value, inside=False)
    if isinstance(value, Mapping):
        return {key: change_texts(inner, change) for key, inner in value.items()}
    return [change_texts(inner, change) for inner in value] if isinstance(value, list | tuple) else value


def secrets_of(settings: Settings) -> list[str]:
    """Returns the API keys that can be told from any text."""
    return [key for key in (settings.api_key, settings.ncbi_api_key) if len(key) >= _SHORTEST_KEY]
