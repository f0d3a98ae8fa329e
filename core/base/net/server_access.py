"""Where secrets come from, which model servers may be asked, and with which key.

Secrets come from the file of secrets, with the sign-in, and from variables of the environment that
are named like one. A key is a function of the address alone: whoever asks a server, for whatever
reason, gets the key of its address here, and an unlisted address has none.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from core.base.errors import AddressRefused, InputError
from core.base.net.addresses import names_file, origin_of, read_addresses
from core.base.net.scrubber import Scrubber

LIST = "PERTURBDESK_ENDPOINTS"
_NO_KEY = (401, 403)


@dataclass(frozen=True)
class ServerAccess:
    """The model servers that may be asked, and their keys.

    listed: addresses, and paths of files of addresses, which are read at each question. key: of the
    listed ones. own_keys: address → key, instead of that one; "" for none. only_listed: whether no
    other server may be asked. clusters: the addresses of Ray that may be joined, if only listed
    servers may be asked. secrets: what else no text may show.
    """

    listed: tuple[str, ...] = ()
    key: str = field(default="", repr=False)
    own_keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    only_listed: bool = False
    clusters: tuple[str, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, address: str, key: str) -> Self:
        """Return the access to one server with its key, and to all others without one."""
        return cls(own_keys={address: key})

    def key_for(self, address: str) -> str:
        """Return the key that belongs to an address: that of its own scheme, host and port; "" for
        none."""
        origin = origin_of(address)
        own = {origin_of(server): key for server, key in self.own_keys.items()}
        return (
            own[origin]
            if origin in own
            else self.key
            if self.key and origin in self._origins()
            else ""
        )

    def refuse_unlisted(self, address: str) -> None:
        """Raise AddressRefused if a server may not be asked, InputError if the address is none."""
        if not self.may_ask(address):
            raise AddressRefused(
                f"{address}: is not among the model servers of this shared server; whoever runs it"
                f" can add it to {LIST}"
            )

    def may_ask(self, address: str) -> bool:
        """Return whether a server may be asked. Raise InputError if the address is none."""
        return not self.only_listed or origin_of(address) in self._origins()

    def refuse_cluster(self, address: str) -> None:
        """Raise AddressRefused if a Ray cluster may not be joined: its processes get keys, and run
        what they like here."""
        if self.only_listed and address not in ("", *self.clusters):
            raise AddressRefused(
                f"ray address {address}: is not among the clusters of this shared server; whoever"
                " runs it can add it to PERTURBDESK_RAY_ADDRESSES"
            )

    def describe_missing_key(self, address: str, status: int) -> str:
        """Return where to put the key of a server that answers with this status for the lack of
        one; "" if it has one."""
        if status not in _NO_KEY or self.key_for(address):
            return ""
        return (
            f"; this address has no key: give it one in PERTURBDESK_API_KEYS, or add it to {LIST}"
            " to send it PERTURBDESK_API_KEY"
        )

    def limit_to(self, servers: str) -> Self:
        """Return the access of a process that asks these servers: their keys alone.

        servers: as settings of a run hold them. Those of a file may come later, so its readers get
        the keys of all.
        """
        if names_file(servers):
            return self
        addresses = read_addresses(servers) if servers else ()
        own = {address: self.key_for(address) for address in addresses}
        return replace(
            self, key="", own_keys=own, listed=tuple(filter(self.may_ask, addresses)), secrets=()
        )

    @cached_property
    def scrub(self) -> Scrubber:
        """What takes every key and secret out of a text."""
        return Scrubber((self.key, *self.own_keys.values(), *self.secrets))

    def _origins(self) -> set[str]:
        """Return the origins of the listed servers, those in files included; a file that cannot be
        read lists none."""
        origins: set[str] = set()
        for each in self.listed:
            with suppress(InputError):
                origins |= set(map(origin_of, read_addresses(each)))
        return origins


NO_KEYS = ServerAccess()  # any server may be asked, without a key


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
    found = {}
    for variable in variables:
        if variable not in content:
            continue
        found[variable] = value = content[variable]
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
