"""Which model servers may be asked, and with which key.

A key is a function of the address alone: whoever asks a server, for whatever reason, gets the key
of its address here, and an unlisted address has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

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
