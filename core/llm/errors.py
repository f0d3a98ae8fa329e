"""How asking a language model can fail, as one tree.

DeskError
└── ModelError          anything below: one call that brought no answer, and what was spent on it
    ├── Unanswered      nobody listens, or the server kept failing in passing until the limit was reached
    ├── Refused         the server says no (a 4xx that no retry mends), in its own words
    ├── Truncated       no content, or cut at the token limit, also with twice the budget
    ├── Malformed       answers that are no JSON or hold no choice, until the limit was reached
    └── NoLogprobs      log-probabilities were asked for, and this server gives none
"""

from __future__ import annotations

from core.errors import DeskError
from core.llm.messages import Usage


class ModelError(DeskError):
    """A call without an answer.

    usage: what its attempts cost. request: the JSON sent last ("" where nothing was sent). raw: what the server answered
    last ("" where nothing came). None of them holds the key.
    """

    def __init__(self, message: str, usage: Usage | None = None, request: str = "", raw: str = "") -> None:
        super().__init__(message)
        self.usage, self.request, self.raw = usage or Usage(), request, raw

    def __reduce__(self) -> tuple[type[ModelError], tuple[str, Usage, str, str]]:
        return type(self), (str(self), self.usage, self.request, self.raw)


class Unanswered(ModelError):
    """No connection, no answer in time, or 408, 409, 429 and 5xx until the limit was reached."""


class Refused(ModelError):
    """The server refuses the request; sending it again would not help."""


class Truncated(ModelError):
    """The content is missing or was cut at the token limit, also after a second try with twice the budget."""


class Malformed(ModelError):
    """What came is no JSON, or holds no choice, after every retry."""


class NoLogprobs(ModelError):
    """The server refuses log-probabilities, or leaves them out."""
