"""How asking a public source can fail, as one tree.

DeskError
└── SourceError          anything below: a source gave no answer; a tool makes it a status, never text
    ├── SourceOffline    the cache does not hold it, and the run may ask nobody
    ├── SourceSilent     nobody listens, or 429, 5xx and broken connections until the limit was reached
    ├── SourceRefused    the source says no (another 4xx, a redirect), or cannot be asked this
    └── SourceGarbled    what came is too long, or not what the source says it sends
"""

from __future__ import annotations

from core.errors import DeskError


class SourceError(DeskError):
    """A public source gave no answer; the message holds no key and nothing that the source said."""


class SourceOffline(SourceError):
    """It is not in the cache, and the run may ask nobody."""


class SourceSilent(SourceError):
    """No connection, no answer in time, or 408, 429 and 5xx, after every retry."""


class SourceRefused(SourceError):
    """Asking again would not help."""


class SourceGarbled(SourceError):
    """No JSON or XML, of another shape than expected, or longer than allowed, after every retry."""
