"""What means something on this machine alone, or is secret: it leaves with nothing that is sent to
others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from core.base.config import Settings
from core.base.errors import StateError
from core.base.net.scrubber import SHORTEST, escapes_of

_PATH = re.compile(r"(?<![\w:/.~-])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\'\":]+[/\\])+([^\s/\\'\":]*)")
_ADDRESS = re.compile(r"https?://[^\s'\"<>()]+")


class Remover(Protocol):
    """Removes folders and addresses from a text.

    inside: whether they may stand in its middle; else the text is a path or has none.
    """

    def __call__(self, text: str, *, inside: bool = True) -> str: ...


def remover(settings: Settings) -> Remover:
    """Return a function that removes folders of files and addresses of servers from a text."""
    places = sorted(
        {
            f"{place}/"
            for place in (settings.workspace, settings.data, Path.home())
            if place != Path("/")
        },
        key=len,
    )

    def remove(text: str, *, inside: bool = True) -> str:
        for place in reversed(places):
            text = text.replace(place, "")
        text = _PATH.sub(r"\1", text) if inside or _PATH.fullmatch(text) else text
        return _ADDRESS.sub("a server", text) if inside else text

    return remove


def change_texts(value: Any, change: Remover) -> Any:
    """Return a copy of plain data with `change` applied to every text that is not a key."""
    if isinstance(value, str):
        return change(value, inside=False)
    if isinstance(value, Mapping):
        return {key: change_texts(inner, change) for key, inner in value.items()}
    return (
        [change_texts(inner, change) for inner in value]
        if isinstance(value, list | tuple)
        else value
    )


def refuse_secrets(settings: Settings, what: str, contents: Iterable[bytes]) -> None:
    """Raise StateError if a secret stands in files that leave this machine, in plain letters or as
    a file escapes them."""
    spellings = [
        spelling
        for secret in settings.secrets
        if len(secret) >= SHORTEST
        for spelling in escapes_of(secret)
    ]
    if any(spelling in content for content in contents for spelling in spellings):
        raise StateError(
            f"{what}: contains an API key; expected {what.partition(' ')[0]} without one, so remove"
            " it first"
        )
