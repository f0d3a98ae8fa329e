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

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from core.base.errors import DeskError
from core.base.net.retry import Fault, is_retryable
from core.base.net.scrubber import Scrubber
from core.base.texts import parse_json
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
    `core.llm.errors`. None of them holds the key.
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


_LONGEST_MESSAGE = 300  # characters
_MOST_READ = 10  # times the characters that are shown: blanks and controls are left out
_MOST_LEVELS = 8  # of an error inside an error
_MESSAGES = ("error", "message", "detail", "msg", "errors", "raw", "reason", "title")
_GENERIC = re.compile(
    r"provider returned error|an error occurred|bad request|invalid request|internal server error",
    re.IGNORECASE,
)
_CODES = ("code", "type", "status", "error_type", "reason", "finish_reason")
_SAYS_WHEN = re.compile(r"(?:retry|try again) (?:in|after)", re.IGNORECASE)
_CODES_OF: Mapping[str, str] = {
    "context": (
        "context_length_exceeded exceed_context_size_error context_window_exceeded"
        " string_above_max_length max_tokens_exceeded"
    ),
    "quota": (
        "insufficient_quota billing_hard_limit_reached billing_not_active insufficient_balance"
        " exceeded_current_quota_error account_deactivated credits_exhausted payment_required"
    ),
    "overload": (
        "overloaded_error overloaded engine_overloaded_error server_overloaded unavailable_error"
    ),
}
_BY_CODE: Mapping[str, str] = {
    code: meaning for meaning, codes in _CODES_OF.items() for code in codes.split()
}
_WORDS_OF: Mapping[str, str] = {
    "context": (
        r"context.?(?:length|window|size)|maximum model length|max_model_len|max_seq_len|too many"
        r" (?:input )?tokens"
        r"|(?:prompt|inputs?|messages?)\b.{0,40}\btoo (?:long|large)\b|input token count|maximum"
        r" (?:number of )?(?:input )?tokens"
        r"|maximum prompt length|reduce the length of|`?inputs`? tokens \+ `?max_new_tokens`? must"
        r" be|exceeded model token limit"
        r"|range of input length|(?:input|prompt) length.{0,30}exceeds|maximum allowed"
        r" (?:token|input) length|kontextlänge"
        r"|longueur (?:maximale )?du contexte|longitud (?:máxima )?del contexto"
        r"|token limit"
        r" exceeded|tokens?.{0,20}exceeds?.{0,40}(?:limit|maximum)|超长|超出.{0,12}(?:长度|上下文)"
        r"|上下文.{0,8}(?:超|过长)"
    ),
    "quota": (
        r"exceeded your current quota|insufficient (?:balance|quota|credits?|funds)"
        r"|out of credits|credit balance is too low|requires more credits"
        r"|check your plan and billing|no credits? (?:left|remaining)|billing (?:hard"
        r" )?limit|余额不足|欠费"
    ),
    "overload": (
        r"overloaded|over capacity|at capacity|(?:server|model|engine) (?:is )?(?:too |currently"
        r" )?busy"
        r"|temporarily unavailable|model is loading|loading model"
    ),
}
_BY_WORDS = tuple(
    (meaning, re.compile(words, re.IGNORECASE)) for meaning, words in _WORDS_OF.items()
)


def error_message_of(text: str, max_length: int = _LONGEST_MESSAGE) -> str:
    """Return a server's error message on one line, with the message of a provider behind it; the
    whole body without a message."""
    found = list(dict.fromkeys(part for part in _messages(_as_json(text), 0) if part.strip()))
    specific = [part for part in found if not _GENERIC.fullmatch(part.strip(" ."))]
    said = "; ".join(specific[:5] or found[:1] or [text])
    line = " ".join(
        "".join(
            each if each.isprintable() else " " for each in said[: _MOST_READ * max_length]
        ).split()
    )
    return line if len(line) <= max_length else f"{line[:max_length]}…"


def meaning_of(text: str) -> str:
    """Return the meaning of an error for the client: the context is too short, the account has no
    quota, the server has too much to do; "" for anything else. Codes and types are looked at before
    words.
    """
    for code in _codes(_as_json(text), 0):
        if code.lower() in _BY_CODE:
            return _BY_CODE[code.lower()]
    message = error_message_of(text, 2_000)
    found = next((meaning for meaning, words in _BY_WORDS if words.search(message)), "")
    # a rate limit in the words of a quota
    return "" if found == "quota" and _SAYS_WHEN.search(message) else found


def judge_fault(fault: Fault) -> Fault:
    """Return the fault with its meaning. A fault that would repeat is not worth a retry, and a full
    context is a refusal whatever its status.
    """
    meaning = meaning_of(fault.raw) if fault.status is not None and fault.status >= 400 else ""
    if (meaning == "context" and fault.status != 429) or (
        meaning == "quota" and fault.wait_s is None
    ):
        why = ", the account has no quota" if meaning == "quota" else ""
        return replace(
            fault,
            kind="refused",
            retryable=False,
            wait_s=None,
            meaning=meaning,
            message=f"{fault.message}{why}",
        )
    return replace(fault, meaning=meaning if meaning == "overload" else "")


def fault_in_answer(body: Any) -> Fault:
    """Return the fault of a successful response whose body has no answer: a refusal or a limit by
    its code, otherwise a fault that may not repeat.
    """
    text = json.dumps(body)
    what = "but an error" if any(_messages(body, 0)) else "with a message"
    status = next((number for code in _codes(body, 0) if (number := _status(code))), None)
    if status is None or status >= 500:
        return judge_fault(
            Fault(
                "malformed",
                f"no choices {what}: {error_message_of(text)}",
                retryable=True,
                raw=text,
            )
        )
    retryable = is_retryable(status)
    message = f"HTTP {status} in the answer ({error_message_of(text)})"
    return judge_fault(
        Fault("unanswered" if retryable else "refused", message, retryable, status, raw=text)
    )


def _status(code: str) -> int | None:
    return (
        int(code)
        if len(code) == 3 and code.isdecimal() and code.isascii() and code[0] in "45"
        else None
    )


def _messages(value: Any, level: int) -> Iterator[str]:
    """Yield the messages in the body of an error, the outermost first."""
    if level > _MOST_LEVELS:
        return
    if isinstance(value, str):
        inner = _as_json(value)
        if inner is None:
            yield value
        else:
            yield from _messages(inner, level + 1)
    elif isinstance(value, list):
        for each in value[:5]:
            yield from _messages(each, level + 1)
    elif isinstance(value, Mapping):
        yield from _messages_in(value, level)


def _messages_in(value: Mapping[str, Any], level: int) -> Iterator[str]:
    where = value.get("loc")
    # pydantic's name of the field
    if isinstance(where, list) and isinstance(value.get("msg"), str):
        yield f"{'.'.join(str(part) for part in where if part != 'body')}: {value['msg']}"
        return
    for name in _MESSAGES:
        if value.get(name):
            yield from _messages(value[name], level + 1)
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping):
        provider = metadata.get("provider_name")
        for said in _messages(metadata.get("raw"), level + 1):
            yield f"{provider}: {said}" if isinstance(provider, str) else said


def _codes(value: Any, level: int) -> Iterator[str]:
    """Yield the codes and types in the body of an error, the innermost last."""
    if level > _MOST_LEVELS:
        return
    if isinstance(value, list):
        for each in value[:5]:
            yield from _codes(each, level + 1)
    elif isinstance(value, Mapping):
        for name in _CODES:
            if isinstance(value.get(name), str | int) and not isinstance(value[name], bool):
                yield str(value[name])
        for name in ("error", "errors", "detail", "message", "metadata", "raw"):
            inner = value.get(name)
            yield from _codes(_as_json(inner) if isinstance(inner, str) else inner, level + 1)


def _as_json(text: str) -> Any:
    """Return the JSON object or list in a text, None if it is none: providers put whole bodies into
    a message."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None


def hide_in_tokens(body: Any, scrub: Scrubber) -> bool:
    """Take the log-probabilities out of the JSON of a completion if a secret is cut into its
    tokens; return whether they were."""
    found = False
    choices = body.get("choices") if isinstance(body, dict) else None
    for choice in choices if isinstance(choices, list) else ():
        logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
        for tokens in logprobs.values() if isinstance(logprobs, dict) else ():
            text = "".join(map(_text_of, tokens)) if isinstance(tokens, list) else ""
            if scrub(text) != text:
                choice["logprobs"], found = None, True
    return found


def _text_of(token: Any) -> str:
    text = token.get("token") if isinstance(token, dict) else token
    return text if isinstance(text, str) else ""
