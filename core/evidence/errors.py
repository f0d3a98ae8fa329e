"""How a request to a public source can fail, as one tree.

DeskError
└── SourceError          any of the errors below: a source gave no answer; a tool turns it into a status, never into text
    ├── SourceOffline    the answer is not in the cache, and the run may ask nobody
    ├── SourceSilent     no server listens, or every attempt failed with a retryable fault
    ├── SourceRefused    the source rejects the request (another 4xx, a redirect), or the symbol cannot be asked about
    └── SourceGarbled    the answer is too long, or not what the source sends
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from core.errors import DeskError


class SourceError(DeskError):
    """A public source gave no answer; the message holds no key and nothing that the source said."""


class SourceOffline(SourceError):
    """The answer is not in the cache, and the run may ask nobody."""


class SourceSilent(SourceError):
    """No connection, no answer in time, or a retryable status, until no retries were left."""


class SourceRefused(SourceError):
    """Sending the request again would not help."""


class SourceGarbled(SourceError):
    """The answer is no JSON or XML, has another shape than expected, or is longer than allowed, after every retry."""


ERROR_OF_FAULT: Mapping[str, type[SourceError]] = MappingProxyType(
    {"unanswered": SourceSilent, "refused": SourceRefused, "malformed": SourceGarbled}
)
