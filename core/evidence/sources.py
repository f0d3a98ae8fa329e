"""Public sources: their addresses, the rate that each allows, and the requests to them.

How a request to a public source can fail, as one tree.

DeskError
└── SourceError          any of the errors below: a source gave no answer; a tool turns it into a
status, never into text
    ├── SourceOffline    the answer is not in the cache, and the run may ask nobody
    ├── SourceSilent     no server listens, or every attempt failed with a retryable fault
    ├── SourceRefused    the source rejects the request (another 4xx, a redirect), or the symbol
    cannot be asked about └── SourceGarbled    the answer is too long, or not what the source sends
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar, cast

from core.base.config import MYGENE, PUBMED, STRING, Settings
from core.base.errors import DeskError, InputError
from core.base.net.addresses import check_address, is_local
from core.base.net.retry import RetryPolicy
from core.base.net.scrubber import Scrubber
from core.base.records import adapter


class SourceError(DeskError):
    """A public source gave no answer; the message contains neither a key nor text of the source."""


class SourceOffline(SourceError):
    """The answer is not in the cache, and the run may ask nobody."""


class SourceSilent(SourceError):
    """No connection, no answer in time, or a retryable status, until no retries were left."""


class SourceRefused(SourceError):
    """Sending the request again would not help."""


class SourceGarbled(SourceError):
    """The answer is no JSON or XML, has another shape than expected, or is longer than allowed,
    after every retry."""


ERROR_OF_FAULT: Mapping[str, type[SourceError]] = MappingProxyType(
    {"unanswered": SourceSilent, "refused": SourceRefused, "malformed": SourceGarbled}
)


T = TypeVar("T")
SiteName = Literal["mygene", "string", "pubmed"]
SITE_NAMES: tuple[SiteName, ...] = ("mygene", "string", "pubmed")
CACHE_FILE = "http.sqlite"  # in the workspace's cache
_ONE_SYMBOL = re.compile(r"[\w.\-()/@']{1,60}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The addresses of public sources, who asks them, and the limits of an exchange.

    cache: the file of their answers, None for none. api_key: NCBI's, which PubMed's address alone
    gets; it is never written anywhere. secrets: what else no answer may hold. contact: an e-mail
    address for those who run the sources, "" for none. rate_factor: multiplies the allowed rates;
    more than 1 is for servers on this machine only. timeout_s: for one whole answer. The other
    numbers: see `RetryPolicy`. max_bytes: of one answer. Raises InputError if an address, the
    contact or the factor is invalid.
    """

    cache: Path | None = None
    mygene: str = MYGENE
    string: str = STRING
    pubmed: str = PUBMED
    api_key: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    contact: str = ""
    rate_factor: float = 1.0
    timeout_s: float = 60.0
    retries: int = 3
    backoff_s: float = 1.0
    longest_backoff_s: float = 30.0
    longest_wait_s: float = 120.0
    max_bytes: int = 32 << 20

    def __post_init__(self) -> None:
        for name in SITE_NAMES:
            check_address(name, getattr(self, name), MYGENE)
        if not self.contact.isprintable() or not self.contact.isascii():
            raise InputError(
                f"contact: got {self.contact!r}, expected an e-mail address in ASCII, or nothing"
            )
        if not 0 < self.rate_factor < math.inf:
            raise InputError(f"rate_factor: got {self.rate_factor!r}, expected more than 0")
        if self.rate_factor > 1 and not all(is_local(getattr(self, name)) for name in SITE_NAMES):
            raise InputError(
                "rate_factor: more than 1 for a server on another machine, expected at most 1"
            )

    @property
    def retry_policy(self) -> RetryPolicy:
        """When a failed request is sent again."""
        return RetryPolicy(
            self.retries, self.backoff_s, self.longest_backoff_s, self.longest_wait_s
        )

    def scrub(self, text: str) -> str:
        """Return the text without the key and other secrets."""
        return Scrubber((self.api_key, *self.secrets))(text)


def source_settings_of(settings: Settings) -> SourceSettings:
    """Return the source settings of a workspace."""
    return SourceSettings(
        cache=settings.cache / CACHE_FILE,
        mygene=settings.mygene,
        string=settings.string,
        pubmed=settings.pubmed,
        api_key=settings.ncbi_api_key,
        secrets=settings.secrets,
        contact=settings.contact,
    )


class SourceRequest(NamedTuple):
    """A request to a site, without the requester's identification, which is added when it is sent.

    path: below the site's address. may_be_missing: whether a 404 means that the site knows nothing
    about the question; otherwise it means that the path does not exist.
    """

    method: Literal["GET", "POST"]
    path: str
    params: Mapping[str, str] = {}
    may_be_missing: bool = False


def identify_nobody(_: SourceSettings) -> Mapping[str, str]:
    """No parameters."""
    return {}


@dataclass(frozen=True, slots=True)
class Site:
    """What is fixed about a source.

    title: its name for people. per_s, per_s_with_key: the requests a second that it allows. serial:
    whether each request must be answered before the next is sent. version: the request for its
    version, None if it has none; read_version: reads that answer, and raises ValueError if it holds
    no version. identify: the parameters that say who asks; they are part of no cache key and of no
    record.
    """

    name: SiteName
    title: str
    per_s: float
    serial: bool = False
    per_s_with_key: float | None = None
    version: SourceRequest | None = None
    read_version: Callable[[str], str] = str
    identify: Callable[[SourceSettings], Mapping[str, str]] = identify_nobody

    def address(self, settings: SourceSettings) -> str:
        """Return its address, without a slash at the end."""
        return str(getattr(settings, self.name)).rstrip("/")

    def rate(self, settings: SourceSettings) -> float:
        """Return requests allowed in a second."""
        with_key = self.per_s_with_key if settings.api_key else None
        return (with_key or self.per_s) * settings.rate_factor

    def cache_key(self, settings: SourceSettings, request: SourceRequest) -> str:
        """Return the identity of an answer: method, URL and parameters."""
        params = json.dumps(dict(request.params), sort_keys=True)
        return f"{request.method} {self.address(settings)}/{request.path} {params}"


def is_askable(symbol: str) -> bool:
    """Return whether every source takes the text for one symbol, not for several or for a query."""
    return _ONE_SYMBOL.fullmatch(symbol) is not None


def check_symbol(site: Site, symbol: str) -> str:
    """Return the symbol, unchanged. Raise SourceRefused if the source would take it for something
    else."""
    if not is_askable(symbol):
        raise SourceRefused(
            f"{site.title}: symbol {symbol!r}, expected letters and digits that may be joined by ."
            " - _ ( ) / @ '"
        )
    return symbol


def parse_json(kind: type[T], text: str) -> T:
    """Return the value of a JSON text as a type, such as a list of dataclasses. Raise ValueError if
    it has another shape."""
    value: T = adapter(cast("Any", kind)).validate_json(text)
    return value
