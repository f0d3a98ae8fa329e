"""Call options of a model server that methods do not set: renamed, refused and additional
parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Le

from core.base.errors import SettingError
from core.base.fields.record import check_values, options_of, values_of, values_with_effect
from core.base.fields.setting import setting
from core.base.texts import parse_json
from core.base.types import JsonObject
from core.llm.messages import LIMIT_NAMES, MAX_TOP_LOGPROBS, SAMPLING, Request, Sampling

_OURS = (
    "model",
    "messages",
    "stream",
    "stream_options",
    "n",
    "logprobs",
    "top_logprobs",
    *SAMPLING,
    *LIMIT_NAMES,
)
# names of headers that hold one
_KEYS = re.compile(r"authorization|cookie|api[-_]?key|token|secret", re.IGNORECASE)
_OF_HTTP = (
    "host",
    "connection",
    "content-length",
    "content-type",
    "expect",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
)
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Call options of a server; the defaults do not change the methods' requests.

    Raises InputError for values that cannot be sent. Those that can change an answer are part of a
    run's identity while they are not at their defaults.
    """

    temperature: Annotated[
        Annotated[float, Ge(0)] | None,
        setting("Sampling temperature of every call.", title="Temperature", missing="the method's"),
    ] = None
    top_p: Annotated[
        Annotated[float, Gt(0), Le(1)] | None,
        setting(
            "Nucleus sampling (top_p) of every call, up to 1.",
            title="top_p",
            missing="the method's",
        ),
    ] = None
    top_logprobs: Annotated[
        Annotated[int, Ge(1), Le(MAX_TOP_LOGPROBS)] | None,
        setting(
            "How many log-probabilities to ask for at each token; fewer where the server allows"
            " fewer.",
            title="Log-probabilities a token",
            missing="20",
        ),
    ] = None
    extra_body: Annotated[
        str,
        setting(
            'What each request holds besides, as a JSON object, such as {"top_k": 20}.',
            title="Extra body",
            metavar="JSON",
        ),
    ] = ""
    leave_out: Annotated[
        tuple[Sampling, ...],
        setting("Parameters that are not sent.", title="Leave out", metavar="NAME[,NAME…]"),
    ] = ()
    limit_name: Annotated[
        Literal["max_completion_tokens", "max_tokens"],
        setting(
            "What the server calls the longest answer.",
            title="Longest answer is called",
            changes_result=False,
        ),
    ] = "max_completion_tokens"
    extra_headers: Annotated[
        str,
        setting(
            "Headers of each request, as a JSON object; keys belong into the environment.",
            title="Extra headers",
            metavar="JSON",
            changes_result=False,
        ),
    ] = ""
    auth_header: Annotated[
        Literal["Authorization", "api-key"],
        setting(
            "The header that carries the key; Azure wants api-key.",
            title="The key is sent in",
            changes_result=False,
        ),
    ] = "Authorization"
    api_version: Annotated[
        str,
        setting(
            "api-version of each address, which Azure wants.",
            title="API version",
            metavar="DATE",
            changes_result=False,
        ),
    ] = ""

    def __post_init__(self) -> None:
        check_values(self)
        object.__setattr__(self, "leave_out", tuple(sorted(set(self.leave_out))))
        object.__setattr__(self, "extra_body", _canonical("extra_body", self.extra_body))
        object.__setattr__(self, "extra_headers", _canonical("extra_headers", self.extra_headers))
        for ours in set(_OURS) & set(_object("extra_body", self.extra_body)):
            raise SettingError(
                "extra_body", f"holds {ours!r}, which has a setting or a method's option of its own"
            )
        for header, value in self.headers.items():
            if not _HEADER.fullmatch(header) or not all(
                " " <= character <= "~" for character in value
            ):
                raise SettingError(
                    "extra_headers",
                    f"{header!r} cannot be sent, expected a name and printable ASCII",
                )
            if header.lower() in _OF_HTTP:
                raise SettingError(
                    "extra_headers", f"{header!r} is set by the connection itself, expected another"
                )
            if _KEYS.search(header):
                raise SettingError(
                    "extra_headers",
                    f"{header!r} may hold a key, which is written to no file: expected it in"
                    " PERTURBDESK_API_KEYS",
                )

    @property
    def headers(self) -> dict[str, str]:
        """The extra headers."""
        return {
            name: str(value) for name, value in _object("extra_headers", self.extra_headers).items()
        }

    @property
    def identity(self) -> JsonObject:
        """The settings that can change an answer and are not at their defaults, as plain data."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values_with_effect(self).items()
        }

    def with_identity(self, identity: Mapping[str, Any]) -> CallSettings:
        """Return these settings, with an identity's values for all settings that can change an
        answer."""
        defaults = {
            option.name: option.default
            for option in options_of(CallSettings)
            if option.about.changes_result
        }
        chosen = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in identity.items()
        }
        return replace(self, **{**defaults, **chosen})

    def over_run(self, spec: Mapping[str, Any]) -> CallSettings:
        """Return these settings, with a run's values for settings at their defaults."""
        return self.over(CallSettings().with_identity(spec.get("calls", {})))

    def over(self, others: CallSettings) -> CallSettings:
        """Return these settings, with the values of `others` for settings at their defaults."""
        defaults = {option.name: option.default for option in options_of(CallSettings)}
        own, fallback = values_of(self), values_of(others)
        return CallSettings(
            **{
                name: fallback[name] if own[name] == default else own[name]
                for name, default in defaults.items()
            }
        )

    def apply(self, request: Request) -> Request:
        """Return the request in the form for this server."""
        top = (
            request.top_logprobs
            if self.top_logprobs is None or request.top_logprobs is None
            else self.top_logprobs
        )
        return replace(
            request,
            temperature=request.temperature if self.temperature is None else self.temperature,
            top_p=request.top_p if self.top_p is None else self.top_p,
            top_logprobs=top,
            extra_body=self.extra_body,
            leave_out=self.leave_out,
            limit_name=self.limit_name,
        )


def _object(name: str, text: str) -> JsonObject:
    """Return the JSON object of a setting; "" is an empty one."""
    if not text.strip():
        return {}
    try:
        value = parse_json(text)
    except ValueError as error:
        raise SettingError(
            name, f'no JSON ({error}), expected an object such as {{"top_k": 20}}'
        ) from error
    if not isinstance(value, dict):
        raise SettingError(name, f'got {text!r}, expected a JSON object such as {{"top_k": 20}}')
    return value


def _canonical(name: str, text: str) -> str:
    """Return the object in canonical spelling, "" for an empty one."""
    value = _object(name, text)
    try:
        return (
            json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False) if value else ""
        )
    except ValueError as error:
        raise SettingError(name, f"{error}, expected JSON") from error
