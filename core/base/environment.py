"""What another process gets of this one's environment: no secret but those that it needs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from core import __version__
from core.base.config import REPOSITORY, Settings
from core.base.errors import StateError
from core.base.net.scrubber import SHORTEST, spellings_of
from core.base.net.server_access import (
    KEY_VARIABLE,
    KEYS_VARIABLE,
    NCBI_VARIABLE,
    join_keys,
    secrets_in_environment,
)

# with which models are fetched that need one
HUB_VARIABLES = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def environment_of(settings: Settings, keep: Iterable[str] = ()) -> dict[str, str]:
    """Return this process's environment for another that works on its behalf, with the settings
    that a caller may have changed.

    Its keys are those of the settings; no other secret is in it, but for the variables to keep.
    """
    return bare_environment(settings, keep) | {
        "PERTURBDESK_AUTHOR": settings.author,
        "PERTURBDESK_BUSY_TIMEOUT_S": str(settings.busy_timeout_s),
        "PERTURBDESK_STORE_MEMORY_MB": str(settings.store_memory_mb),
        "PERTURBDESK_ENDPOINT": settings.endpoint,
        "PERTURBDESK_ENDPOINTS": ",".join(settings.endpoints),
        "PERTURBDESK_RAY_ADDRESSES": ",".join(settings.ray_addresses),
        "PERTURBDESK_BASE_URL": settings.base_url,
        "PERTURBDESK_SIGN_IN": "yes" if settings.sign_in else "no",
        "PERTURBDESK_SECRETS_FILE": str(settings.secrets_file),
        KEY_VARIABLE: settings.api_key,
        KEYS_VARIABLE: join_keys(settings.api_keys),
        NCBI_VARIABLE: settings.ncbi_api_key,
    }


def bare_environment(settings: Settings | None = None, keep: Iterable[str] = ()) -> dict[str, str]:
    """Return this process's environment for another program, without secrets: those that a name
    tells, and those of the settings.

    keep: variables that the program needs.
    """
    named = secrets_in_environment(os.environ)
    values = (
        {secret for secret in settings.secrets if len(secret) >= SHORTEST} if settings else set()
    )
    return {
        name: text
        for name, text in os.environ.items()
        if name in keep or (name not in named and text not in values)
    }


@contextmanager
def without_secrets(keep: Iterable[str] = ()) -> Iterator[None]:
    """Take what is named like a secret out of this process's environment, for what a library starts
    during the block."""
    taken = {
        name: value
        for name, value in secrets_in_environment(os.environ).items()
        if name not in keep
    }
    for name in taken:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ |= taken


def keys_needed(settings: Settings, servers: str, *, sources: bool) -> Settings:
    """Return settings with the keys that a run needs: those of its model servers, and NCBI's if it
    asks public sources."""
    own = settings.server_access.limit_to(servers)
    ncbi = settings.ncbi_api_key if sources else ""
    return replace(
        settings, api_key=own.key, api_keys=tuple(own.own_keys.items()), ncbi_api_key=ncbi
    )


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
        spelling.encode("utf-8", "replace")
        for secret in settings.secrets
        if len(secret) >= SHORTEST
        for spelling in spellings_of(secret)
    ]
    if any(spelling in content for content in contents for spelling in spellings):
        raise StateError(
            f"{what}: contains an API key; expected {what.partition(' ')[0]} without one, so remove"
            " it first"
        )


_SHOWN = 10  # characters of a commit


@cache
def describe() -> str:
    """Return the version and, behind a plus, the commit, such as "0.2.0+1d0391d53a"; recorded with
    every run.

    The version alone if the code is not a checkout. Uncommitted changes are not looked for. Read
    once in a process, so that a checkout that moves on meanwhile does not change what is recorded.
    """
    commit = commit_of(REPOSITORY)
    return f"{__version__}+{commit}" if commit else __version__


def version_in(description: str) -> str:
    """Return the version in a description of `describe`, without the commit."""
    return description.partition("+")[0]


def commit_of(repository: Path) -> str:
    """Return the first ten characters of a checkout's commit; "" if git cannot tell."""
    # the checkout may belong to another user than this one
    command = ["git", "-c", "safe.directory=*", "--git-dir", str(repository / ".git")]
    try:
        done = subprocess.run(
            [*command, "rev-parse", "--verify", "HEAD"], capture_output=True, text=True, check=False
        )
    except OSError:  # without git
        return ""
    return done.stdout[:_SHOWN] if done.returncode == 0 else ""
