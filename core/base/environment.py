"""What another process gets of this one's environment: no secret but those that it needs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from core.base.config import Settings
from core.base.net.scrubber import SHORTEST
from core.base.secrets_file import (
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
