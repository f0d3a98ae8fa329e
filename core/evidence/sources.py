"""Public sources as the client sees them: where they are, how fast each may be asked, and what a request is."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from core.config import MYGENE, PUBMED, STRING, Settings
from core.errors import InputError
from core.evidence.errors import SourceRefused

SiteName = Literal["mygene", "string", "pubmed"]
FILE = "http.sqlite"  # in the workspace's cache
_SHORTEST_SECRET = 6
_ONE_SYMBOL = re.compile(r"[\w.\-()/@']{1,60}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Where public sources are, and how long to put up with them.

    cache: the file of their answers, None for none. api_key: NCBI's, never written anywhere. contact: an e-mail address
    for those who run the sources, "" for none. faster: by what to multiply the allowed rates, for stand-ins on this
    machine only. timeout_s: for one whole answer. retries, backoff_s, longest_backoff_s, longest_wait_s: as of a model
    server's endpoint. most_bytes: of one answer. Raises InputError for an address that cannot be one.
    """

    cache: Path | None = None
    mygene: str = MYGENE
    string: str = STRING
    pubmed: str = PUBMED
    api_key: str = field(default="", repr=False)
    contact: str = ""
    faster: float = 1.0
    timeout_s: float = 60.0
    retries: int = 3
    backoff_s: float = 1.0
    longest_backoff_s: float = 30.0
    longest_wait_s: float = 120.0
    most_bytes: int = 64 << 20

    def __post_init__(self) -> None:
        for name in ("mygene", "string", "pubmed"):
            _check(name, getattr(self, name))
        if not self.contact.isprintable() or not self.contact.isascii():
            raise InputError(f"contact: got {self.contact!r}, expected an e-mail address in ASCII, or nothing")
        if not 0 < self.faster < math.inf:
            raise InputError(f"faster: got {self.faster!r}, expected more than 0")
        local = all(is_local(getattr(self, name)) for name in ("mygene", "string", "pubmed"))
        if self.faster > 1 and not local:
            raise InputError("faster: more than 1 for an address outside this machine, expected 1, since others set the rates")

    def scrub(self, text: str) -> str:
        """The text without the key."""
        return text.replace(self.api_key, "[key]") if len(self.api_key) >= _SHORTEST_SECRET else text


def source_settings_of(settings: Settings) -> SourceSettings:
    """The sources of a workspace."""
    return SourceSettings(
        cache=settings.cache / FILE,
        mygene=settings.mygene,
        string=settings.string,
        pubmed=settings.pubmed,
        api_key=settings.ncbi_api_key,
        contact=settings.contact,
    )


class Request(NamedTuple):
    """What is asked of a site; path: below its address. What a site wants to know about the asker is added when it is sent.

    may_lack: whether a 404 says that the site knows nothing of what was asked; elsewhere it says that nobody serves the path.
    """

    method: Literal["GET", "POST"]
    path: str
    params: Mapping[str, str] = {}
    may_lack: bool = False


def nothing(_: SourceSettings) -> Mapping[str, str]:
    """No parameters."""
    return {}


@dataclass(frozen=True, slots=True)
class Site:
    """What is fixed about a source.

    title: for people. per_s, per_s_with_key: how many requests it allows. serial: one must be answered before the next is
    sent. version, read_version: how to ask for its version, where it tells one; ValueError for an answer without.
    about_asker: parameters that say who asks, which belong to no key and to no record.
    """

    name: SiteName
    title: str
    per_s: float
    serial: bool = False
    per_s_with_key: float | None = None
    version: Request | None = None
    read_version: Callable[[str], str] = str
    about_asker: Callable[[SourceSettings], Mapping[str, str]] = nothing

    def address(self, net: SourceSettings) -> str:
        """Where it is, without a slash at its end."""
        return str(getattr(net, self.name)).rstrip("/")

    def rate(self, net: SourceSettings) -> float:
        """Requests that may be sent in a second."""
        with_key = self.per_s_with_key if net.api_key else None
        return (with_key or self.per_s) * net.faster

    def key(self, net: SourceSettings, request: Request) -> str:
        """What identifies an answer: method, URL and parameters."""
        said = json.dumps(dict(request.params), sort_keys=True)
        return f"{request.method} {self.address(net)}/{request.path} {said}"


def is_askable(symbol: str) -> bool:
    """Whether no source would take a symbol for several, or for a query."""
    return _ONE_SYMBOL.fullmatch(symbol) is not None


def askable(site: Site, symbol: str) -> str:
    """The symbol as it is. Raises SourceRefused where the source would take it for something else."""
    if not is_askable(symbol):
        raise SourceRefused(f"{site.title}: symbol {symbol!r}, expected letters and digits that may be joined by . - _ ( ) / @ '")
    return symbol


def is_local(url: str) -> bool:
    """Whether an address is on this machine, where no proxy belongs in between."""
    return urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost")


def _check(name: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{name}: an address that cannot be read, expected one such as {MYGENE}") from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InputError(f"{name}: the address holds a name, a password or a query (not shown), expected one such as {MYGENE}")
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not url.isascii():
        raise InputError(f"{name}: address {url!r}, expected one such as {MYGENE}")
