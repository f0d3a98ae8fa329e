"""How a call of a language model can fail, as one tree.

DeskError
└── ModelError          any of the errors below: one call without an answer, and what it cost
    ├── Unanswered      no server listens, or every attempt failed with a retryable fault: broken
    HTTP, no answer in time, 5xx ├── Refused         the server rejects the request (a 4xx that is
    not retryable), or redirects it ├── Declined        the model, or a filter of its server,
    declines to answer ├── Truncated       the content is missing or cut at the token limit, also
    with twice the token limit ├── Malformed       an answer is no UTF-8, invalid JSON or holds no
    choice, is longer than allowed, or unknown to be whole └── NoLogprobs      the server does not
    give the log-probabilities that the request asks for

What a server refuses of a request, and which setting helps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from core.base.errors import DeskError
from core.base.net.retry import Fault
from core.llm.messages import LIMIT_NAMES, SAMPLING, Request, Usage

_LOGPROBS = re.compile(r"log[\s_-]?prob", re.IGNORECASE)
_AT_MOST = re.compile(
    r"(?:(?:less|lower) than or equal to|at most|no more than|up to|<=|≤|not"
    r" exceed|maximum|max|between \d+ and|\[\d+, ?)"
    r"[^\d\n]{0,30}(\d{1,2})\b",
    re.IGNORECASE,
)
_STEPS = (
    10,
    5,
    # smaller numbers to try if a server does not say how many it allows; five are enough for three
    # letters
)


class ModelError(DeskError):
    """A call without an answer.

    usage: what its attempts cost. request: the JSON sent last ("" if nothing was sent). raw: the
    server's last answer ("" if there was none). meaning: of a refusal, as in
    `core.llm.server_errors`. None of them holds the key.
    """

    def __init__(
        self,
        message: str,
        usage: Usage | None = None,
        request: str = "",
        raw: str = "",
        meaning: str = "",
    ) -> None:
        super().__init__(message)
        self.usage, self.request, self.raw, self.meaning = usage or Usage(), request, raw, meaning

    def __reduce__(self) -> tuple[type[ModelError], tuple[str, Usage, str, str, str]]:
        return type(self), (str(self), self.usage, self.request, self.raw, self.meaning)


class Unanswered(ModelError):
    """No connection, no answer in time, or a retryable status, until no retries were left."""


class Refused(ModelError):
    """The server rejects or redirects the request, so sending it again would not help."""


class Declined(ModelError):
    """The model refuses, or a filter withholds its answer; the text says so in the server's
    words."""


class Truncated(ModelError):
    """The content is missing or cut at the token limit, also after a second attempt with twice the
    limit."""


class Malformed(ModelError):
    """The answer is still not UTF-8 or not JSON after every retry; or it has no choice, is longer
    than allowed, or it is unclear from its end whether it is complete.
    """


class NoLogprobs(ModelError):
    """The server rejects requests for log-probabilities, or leaves them out."""


ERROR_OF_FAULT: Mapping[str, type[ModelError]] = MappingProxyType(
    {"unanswered": Unanswered, "refused": Refused, "malformed": Malformed, "declined": Declined}
)


def refuses_logprobs(fault: Fault) -> bool:
    """Return whether a server rejects a request because of its log-probabilities, or of their
    number."""
    return fault.kind == "refused" and _LOGPROBS.search(fault.message) is not None


def fewer_logprobs(fault: Fault, asked: int | None) -> int | None:
    """Return the number of log-probabilities to request after a refusal: the number that the server
    allows, or the next smaller one if it refuses the number; None if it allows none.
    """
    if asked is None:
        return None
    said = [int(number) for number in _AT_MOST.findall(fault.message)]
    allowed = [number for number in said if 1 <= number < asked]
    if allowed:
        return max(allowed)
    return (
        next((step for step in _STEPS if step < asked), None)
        if "top_logprobs" in fault.message
        else None
    )


def describe_remedy(fault: Fault, request: Request) -> str:
    """Return the setting that omits the part of a request that a server refuses, "" if there is
    none."""
    message = fault.message
    if LIMIT_NAMES[0] in message:
        return f"set --limit-name {LIMIT_NAMES[1]}"
    if re.search(rf"\b{LIMIT_NAMES[1]}\b.{{0,60}}(?:not supported|unsupported)", message):
        return f"set --limit-name {LIMIT_NAMES[0]}"
    refused = [name for name in SAMPLING if re.search(rf"(?<![\w-]){name}(?![\w-])", message)]
    if refused:
        return f"set --leave-out {','.join(refused)}"
    if request.response_format and fault.status in (400, 422) and not fault.meaning:
        return "if it takes no response_format, leave out the method's option structured"
    return "set --auth-header api-key if it is Azure's" if "subscription key" in message else ""
