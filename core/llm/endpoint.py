"""A model server: its address, key, time limits and retry policy, and one exchange with it through
the `openai` package."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self

from core.base.errors import InputError
from core.base.net.addresses import check_address
from core.base.net.retry import Fault, RetryPolicy
from core.base.net.server_access import ServerAccess
from core.base.net.transport import (
    ConnectionFailed,
    FarTooLong,
    HttpResponse,
    OnPart,
    TooLong,
    exchange,
    fault_of_status,
    open_http_client,
    read_aside,
    send_prepared,
)
from core.llm.call_settings import CallSettings
from core.llm.messages import Outcome
from core.llm.messages import Request as ChatRequest

if TYPE_CHECKING:
    from httpx2 import Request

    from core.llm.completion import Answer

Method = Literal["GET", "POST"]
EXAMPLE = "http://127.0.0.1:8000/v1"
# calls at once, a cap, not a target: vLLM queues without bound instead of answering 429
CONCURRENCY = 16
TIMEOUT_S = 600.0  # for one whole answer
MAX_ANSWER_MB = 4.0  # a million characters of four bytes
# An entry of log-probabilities in JSON, as vLLM writes it: a token of 5 characters, a number of 20
# digits, and the token's bytes as a list take 80 bytes. With 20 alternatives to each token, 8 MB
# would hold 4,700 tokens.
_BYTES_PER_LOGPROB = 100
_MOST_SHOWN = 200  # characters of an address that is not ours


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible server; base_url ends in /v1.

    access: the source of its key, and whether it may be asked. timeout_s: for one whole answer.
    connect_timeout_s: for making a connection. calls: its call options. max_answer_mb: an answer is
    cut off beyond this many million bytes (see `max_answer_bytes`). The other numbers: see
    `RetryPolicy`. Raises InputError if the address or the key is invalid; its text never shows the
    key.
    """

    base_url: str
    access: ServerAccess = field(default_factory=ServerAccess, repr=False)
    timeout_s: float = TIMEOUT_S
    connect_timeout_s: float = 5.0
    retries: int = 5
    backoff_s: float = 0.5
    longest_backoff_s: float = 30.0
    longest_wait_s: float = 120.0
    max_answer_mb: float = MAX_ANSWER_MB
    calls: CallSettings = field(default_factory=CallSettings)

    def __post_init__(self) -> None:
        check_address("endpoint", self.base_url, EXAMPLE)
        if not all("!" <= character <= "~" for character in self.api_key):
            raise InputError(
                "endpoint: the key holds a space, a line break or no ASCII, expected printable"
                " ASCII (not shown)"
            )

    @property
    def api_key(self) -> str:
        """The key of its address, "" for none."""
        return self.access.key_for(self.base_url)

    @property
    def retry_policy(self) -> RetryPolicy:
        """The policy for sending a failed call again."""
        return RetryPolicy(
            self.retries, self.backoff_s, self.longest_backoff_s, self.longest_wait_s
        )

    def max_answer_bytes(self, request: ChatRequest | None = None) -> int:
        """Return the largest size of an answer in bytes: `max_answer_mb`, or more if that many
        log-probabilities need it."""
        most = int(1e6 * self.max_answer_mb)
        if request is None or request.top_logprobs is None or request.max_completion_tokens is None:
            return most
        return max(
            most, request.max_completion_tokens * (1 + request.top_logprobs) * _BYTES_PER_LOGPROB
        )

    def scrub(self, text: str) -> str:
        """Return the text without any key."""
        return self.access.scrub(text)


def asks_several(text: str) -> bool:
    """Return whether a text names several model servers (with commas, or as the path of a file)
    rather than one address."""
    return "," in text or (bool(text) and "://" not in text)


@dataclass(slots=True)
class ServerState:
    """The state of one of several servers in a run.

    state: checking (asked what it serves), ready, resting (after failures, until it is checked
    again), refused (it differs from the others). in_flight: its requests. done: its answers;
    failed: its faults; tokens: of its answers. problem: why it is not ready.
    """

    address: str
    state: Literal["checking", "ready", "resting", "refused"] = "checking"
    in_flight: int = 0
    done: int = 0
    failed: int = 0
    tokens: int = 0
    problem: str = ""


class ModelTransport:
    """Persistent connections to one model server, for one event loop. Answers and faults contain no
    key.

    connections: the most requests at the same time, which the caller sees to. Raises AddressRefused
    for a server that may not be asked.
    """

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        from httpx2 import Limits, Timeout
        from openai import AsyncOpenAI, DefaultAioHttpClient

        self.endpoint = endpoint
        # The client of aiohttp needs a fifth of the time a call that httpx2's own needs, which
        # looks at each idle connection whenever a request begins or ends.
        self._client = open_http_client(
            endpoint.base_url,
            endpoint.access,
            key_header=endpoint.calls.auth_header,
            base=DefaultAioHttpClient,
            timeout=Timeout(None, connect=endpoint.connect_timeout_s),
            limits=Limits(max_connections=connections, max_keepalive_connections=connections),
        )
        self._patterns: dict[tuple[Method, str], Request] = {}
        package = AsyncOpenAI(
            base_url=endpoint.base_url,
            api_key="none",  # the key of the address is added when a request is sent
            default_headers=endpoint.calls.headers,
            http_client=self._client,
        )
        self._headers = {
            name: value for name, value in package.default_headers.items() if isinstance(value, str)
        }

    @property
    def address(self) -> str:
        """The server's address, which ends in /v1."""
        return self.endpoint.base_url

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    @asynccontextmanager
    async def choose(self) -> AsyncIterator[Self]:
        """This server, the only one there is (see `ServerPool.choose`)."""
        yield self

    def count(self, cost: Outcome) -> None:
        """Count nothing: the numbers of the only server are the run's (see
        `PooledServer.count`)."""

    def record(self, outcome: Answer | Fault) -> Answer | Fault:
        """Return the outcome unchanged: the only server is used in any case (see
        `PooledServer.record`)."""
        return outcome

    async def send(
        self,
        method: Method,
        url: str,
        body: str | None = None,
        max_bytes: int | None = None,
        on_part: OnPart | None = None,
    ) -> str | Fault:
        """Return the text of an answer of status 2xx. url: a path below the endpoint's, or a whole
        address.

        max_bytes: the most that the answer may hold, by default the endpoint's limit. on_part:
        takes its parts as they come, in place of the text, which is "" then (see
        `send_prepared`).
        """
        most = max_bytes or self.endpoint.max_answer_bytes()
        response = await exchange(
            lambda _: self._send(method, url, body, most, on_part), self.endpoint.timeout_s
        )
        if isinstance(response, Fault):
            return response
        text = await read_aside(self.endpoint.scrub, response.content.decode("utf-8", "replace"))
        if 300 <= response.status < 400:
            # The target of a redirect, without user names, passwords and query, which may be secret
            target = re.sub(
                r"//[^/]*@|[?#].*|[^!-~]",
                lambda found: "//" if found[0].startswith("//") else "",
                response.headers.get("location", ""),
            )
            return fault_of_status(
                response, f" to {self.endpoint.scrub(target)[:_MOST_SHOWN]}" if target else "", text
            )
        if not 200 <= response.status < 300:
            from core.llm.errors import error_message_of, judge_fault  # an app asks no server

            hint = self.endpoint.access.describe_missing_key(self.address, response.status)
            return judge_fault(
                fault_of_status(response, f" ({error_message_of(text)}){hint}", text)
            )
        try:
            response.content.decode()
        except UnicodeDecodeError as error:
            where = f"byte {error.start + 1:,} of {len(response.content):,}"
            return Fault(
                "malformed",
                f"an answer that is not UTF-8 ({where})",
                True,
                response.status,
                raw=text,
            )
        return text

    async def _send(
        self, method: Method, url: str, body: str | None, max_bytes: int, on_part: OnPart | None
    ) -> HttpResponse:
        from httpx2 import HTTPError

        try:
            request = self._request(method, url, body or "")
            return await send_prepared(self._client, request, max_bytes, on_part)
        except HTTPError as error:
            raise ConnectionFailed(self._describe_failure(error)) from None
        except FarTooLong:
            raise
        except TooLong as error:
            raise TooLong(
                f"{error} (max_answer_mb is {self.endpoint.max_answer_mb:g}, a larger one allows"
                " more)"
            ) from None

    def _request(self, method: Method, url: str, body: str) -> Request:
        """Return a request as the openai package sends it.

        The package reads settings, headers and address anew for each, which takes longer than the
        exchange itself: here the first request to an address is the pattern of the others.
        """
        from httpx2 import Request

        pattern = self._patterns.get((method, url))
        if pattern is None:
            headers = dict(self._headers)
            if method == "GET":
                del headers["Content-Type"]
            version = self.endpoint.calls.api_version
            pattern = self._patterns[method, url] = self._client.build_request(
                method,
                url if "://" in url else f"{self.address.rstrip('/')}{url}",
                headers=headers,
                params={"api-version": version} if version else None,
            )
            pattern.headers.pop("Content-Length", None)
        content = body.encode() if method == "POST" else None
        return Request(method, pattern.url, headers=pattern.headers, content=content)

    def _describe_failure(self, cause: BaseException) -> str:
        """Return why there is no answer: the text of the error if there was no connection.

        Later errors are named only by kind, because their texts quote the answer, which may contain
        a part of the key.
        """
        from httpx2 import ConnectError, DecodingError, ReadError, RemoteProtocolError

        if isinstance(cause, ConnectError):
            return self.endpoint.scrub(" ".join(str(cause).split())) or type(cause).__name__
        if isinstance(cause, DecodingError):
            return "the answer is not compressed as it says"
        kind = type(cause.__cause__ or cause).__name__
        said: dict[type[BaseException], str] = {
            ReadError: "the answer broke off: ",
            RemoteProtocolError: "the answer breaks HTTP: ",
        }
        return f"{said.get(type(cause), '')}{kind}"
