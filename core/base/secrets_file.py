"""Where secrets come from: the file of secrets, with the sign-in, and variables of the environment
that are named like one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from core.base.errors import InputError
from core.base.net.addresses import origin_of

KEY_VARIABLE = "PERTURBDESK_API_KEY"
KEYS_VARIABLE = "PERTURBDESK_API_KEYS"
NCBI_VARIABLE = "PERTURBDESK_NCBI_API_KEY"
# What an OpenID client tells everybody: hiding these would take ordinary words and our own address
# out of texts.
_PUBLIC = ("redirect_uri", "client_id", "server_metadata_url", "client_kwargs", "expose_tokens")
# who has which role: names that stand in the audit log
_PEOPLE = ("PERTURBDESK_EDITORS", "PERTURBDESK_READERS")
_NAMED_LIKE_A_SECRET = re.compile(r"(?:^|_)(?:TOKEN|KEYS?|SECRET|PASSWORD|PASSWD)$")
# of a file that is no TOML
_LINE = re.compile(r"^[^\S\n]*[\w.\"'-]+[^\S\n]*=[^\S\n]*(.*?)[^\S\n]*$", re.MULTILINE)


def read_secrets_file(file: Path) -> Mapping[str, Any]:
    """Return what a file of secrets holds; nothing if there is no such file. Raise InputError,
    which shows nothing of it, for one that cannot be read."""
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{file}: cannot be read ({type(error).__name__}), expected TOML in UTF-8"
        ) from None


def has_sign_in(file: Path) -> bool:
    """Return whether a file of secrets configures a sign-in: its section [auth]. Raise InputError
    as `read_secrets_file` does."""
    return "auth" in read_secrets_file(file)


def redirect_uri(file: Path) -> str:
    """Return where a provider sends back who signed in, as a file of secrets says; "" if it does
    not."""
    section = read_secrets_file(file).get("auth")
    return str(section.get("redirect_uri", "")) if isinstance(section, Mapping) else ""


def secrets_in_file(file: Path) -> tuple[str, ...]:
    """Return every text in a file of secrets but what its sign-in tells everybody; of a file that
    cannot be read as TOML, what stands behind an equals sign."""
    try:
        return tuple(_texts(read_secrets_file(file)))
    except InputError:
        try:
            lines = file.read_text("utf-8", "replace")
        except OSError:
            return ()
        return tuple(found.strip("\"'") for found in _LINE.findall(lines))


def settings_in_file(file: Path, variables: Iterable[str]) -> Mapping[str, str]:
    """Return those of some settings that stand in a file of secrets, by variable; keys of single
    servers may stand in a table, address → key, and people in a list. Raise InputError, which shows
    no value, for one that is not a text."""
    content = dict(read_secrets_file(file))
    keys = content.get(KEYS_VARIABLE)
    if isinstance(keys, Mapping) and all(
        isinstance(key, str) and not re.search(r"\s", key) for key in keys.values()
    ):
        content[KEYS_VARIABLE] = join_keys(keys.items())
    for people in _PEOPLE:
        if isinstance(addresses := content.get(people), list) and all(
            isinstance(each, str) for each in addresses
        ):
            content[people] = ",".join(addresses)
    found = {variable: content[variable] for variable in variables if variable in content}
    for variable, value in found.items():
        if not isinstance(value, str):
            raise InputError(
                f"{file}: {variable} is a {type(value).__name__}, expected text in quotes"
            )
    return found


def secrets_in_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return variable → value of those that are named like a secret, as HF_TOKEN and OPENAI_API_KEY
    are."""
    return {
        name: value
        for name, value in environment.items()
        if value and _NAMED_LIKE_A_SECRET.search(name.upper())
    }


def join_keys(keys: Iterable[tuple[str, str]]) -> str:
    """Return keys of single servers, (address, key), as the environment holds them."""
    return " ".join(f"{address}={key}" for address, key in keys)


def refuse_two_keys(keys: Iterable[tuple[str, str]]) -> None:
    """Raise ValueError if two addresses of one server have different keys, InputError if an address
    is none."""
    found: dict[str, str] = {}
    for address, key in keys:
        if found.setdefault(origin_of(address), key) != key:
            raise ValueError


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name not in (*_PUBLIC, *_PEOPLE):
                yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
